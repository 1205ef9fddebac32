import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { shiftDay } from '../../src/domain/day.ts'
import { clockArguments, createShiftedClock, type Shift } from '../entry/shifted-clock.ts'
import { startProgram } from '../setup/processes.ts'
import { useRedis, type TestRedis } from '../setup/redis.ts'
import { receiver, type Receiver } from './receiver.ts'
import { endOf, readableDays, workplace, type Ended, type Workplace } from './workplace.ts'

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
  /** One replay of the tests' own, which may end itself. */
  replay(kill?: string): Promise<Ended>
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
  const entries = place.simulator.entries(101, day).slice(40, 40 + deadLetters)
  const poison = entries.map(({ logId }) => logId)
  const isPoison = new Set(poison)
  siem.answer(({ lines }) => {
    const isRefused = lines.some((line) => isPoison.has((JSON.parse(line) as { id: string }).id))
    return isRefused ? { status: 400, body: 'no' } : { status: 200 }
  })
  const ended = await endOf(place.entry(['--once', ...clockArguments(shift)]))
  expect([ended.signal, siem.taken.length], ended.stderr).toEqual([null, 70])
  siem.answer(() => ({ status: 200 }))
  // A dead command holds its streams for 20 s: on this clock for one. Over Redis its own clock counts, and a faster one here would only give up sooner.
  const fast: Shift = { rate: redis === undefined ? 20 : 1, originMs: Date.now() }
  return {
    place,
    siem,
    day,
    clock: clockArguments(shift),
    poison,
    intoFiles: () => configure({ name: 'siem', type: 'file', path: place.events }),
    async replay(kill) {
      const more = kill === undefined ? [] : ['--kill', kill]
      const args = ['-c', place.configFile, ...clockArguments(fast), ...more]
      const exit = await endOf(startProgram('replay', args, { cwd: place.folder }))
      expect(exit.signal, exit.stderr).toBe(kill === undefined ? null : 'SIGKILL')
      if (kill !== undefined && redis !== undefined) await forgetHolders(redis)
      return exit
    },
  }
}

/** Redis has a clock of its own: what it would do 20 s later is done at once. */
async function forgetHolders({ url, keyPrefix }: TestRedis): Promise<void> {
  const client = new Redis(url)
  try {
    await client.del(`{${keyPrefix}}:holders`)
  } finally {
    client.disconnect()
  }
}
