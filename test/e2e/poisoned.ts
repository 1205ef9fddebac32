import { expect } from 'vitest'
import { shiftDay } from '../../src/domain/day.ts'
import { executeWith } from '../commands/workshop.ts'
import { clockArguments, createShiftedClock } from '../entry/shifted-clock.ts'
import { startProgram } from '../setup/processes.ts'
import { useRedis } from '../setup/redis.ts'
import { forgetHolders } from './crash-world.ts'
import { receiver, type Receiver } from './receiver.ts'
import { endOf, readableDays, workplace, type Workplace } from './workplace.ts'
import { forgetHolders as forgetHoldersIn } from '../setup/stores.ts'

/** More than one page of a replay. */
const deadLetters = 130
const [, , today] = readableDays()

export interface Poisoned {
  readonly place: Workplace
  readonly siem: Receiver
  readonly day: string
  /** For the tests' own entry: the clock on which the dead letters came to be. */
  readonly clock: readonly string[]
  /** Ids of the dead letters. */
  readonly poison: readonly string[]
  /** The sink of the same name is a file from now on. */
  intoFiles(): void
  /** A replay that ends itself there. */
  replayKilled(moment: string): Promise<void>
  /** A replay to the end. Returns what it prints. */
  replay(): Promise<string>
}

/** A stream with dead letters of a receiver that has taken everything else; `shiftDays` days ago. */
export async function poisoned(kind: string, shiftDays = 0): Promise<Poisoned> {
  const siem = await receiver()
  const shift = { offsetMs: shiftDays * 86_400_000, rate: 1, originMs: Date.now() }
  const day = shiftDay(today, shiftDays)
  const clock = createShiftedClock(shift)
  const place = await workplace({ zones: [101], days: { [day]: 200 }, pageSize: 100, clock })
  const redis = kind === 'redis' ? await useRedis() : undefined
  const http = { name: 'siem', type: 'http', url: siem.url, batch: { maxEvents: 20 }, timeoutSeconds: 3_600 }
  const configure = (sink: object) =>
    place.configure({
      log: { level: 'error', format: 'json' },
      zones: [101],
      sinks: [sink],
      ...(redis !== undefined && { state: { redis: { url: redis.url, keyPrefix: redis.keyPrefix } } }),
    })
  configure(http)
  // Events that are accepted lie between them: refusals alone would be an error of the sink.
  const entries = place.simulator.entries(101, day).filter((_, index) => index % 20 >= 7)
  expect(entries).toHaveLength(deadLetters)
  const poison = entries.map(({ logId }) => logId)
  const isPoison = new Set(poison)
  siem.answer(({ lines }) => {
    const isRefused = lines.some((line) => isPoison.has((JSON.parse(line) as { id: string }).id))
    return isRefused ? { status: 400, body: 'no' } : { status: 200 }
  })
  if (shiftDays === 0) await executeWith(place.configFile, ['run', '--once'])
  else await endOf(place.entry(['--once', ...clockArguments(shift)]))
  expect(siem.taken).toHaveLength(70)
  siem.answer(() => ({ status: 200 }))
  // A dead command holds its streams for 20 s.
  const bury = async () => {
    if (redis !== undefined) await forgetHolders(redis)
    else forgetHoldersIn(place.database)
  }
  return {
    place,
    siem,
    day,
    clock: clockArguments(shift),
    poison,
    intoFiles: () => configure({ name: 'siem', type: 'file', path: place.events }),
    async replayKilled(moment) {
      const args = ['-c', place.configFile, '--kill', moment]
      const exit = await endOf(startProgram('replay', args, { cwd: place.folder }))
      expect(exit.signal, exit.stderr).toBe('SIGKILL')
      await bury()
    },
    async replay() {
      const { code, stdout, stderr } = await executeWith(place.configFile, ['dead-letters', 'replay'])
      expect(code, stderr).toBe(0)
      return stdout
    },
  }
}
