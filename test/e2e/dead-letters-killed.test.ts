import { describe, expect, test } from 'vitest'
import { dayOf, shiftDay } from '../../src/domain/day.ts'
import { executeWith } from '../tasks/workshop.ts'
import { clockArguments, createShiftedClock } from '../entry/shifted-clock.ts'
import { forgetHolders, inStore } from '../setup/stores.ts'
import { receiver } from './receiver.ts'
import { linesBelow } from './shipped.ts'
import { endOf, readableDays, workplace, type Workplace } from './workplace.ts'

/** More than one page of a replay. */
const deadLetters = 130
const [, , today] = readableDays()

/** A stream with dead letters of a receiver that has taken everything else; `daysAgo` before today. */
async function poisoned(daysAgo = 0) {
  const siem = await receiver()
  const shift = { offsetMs: -daysAgo * 86_400_000, rate: 1, originMs: Date.now() }
  const day = shiftDay(today, -daysAgo)
  const clock = createShiftedClock(shift)
  const place = await workplace({ zones: [101], days: { [day]: 200 }, pageSize: 100, clock })
  const configure = (sink: object) =>
    place.configure({ log: { level: 'error', format: 'json' }, zones: [101], sinks: [sink] })
  configure({ name: 'siem', type: 'http', url: siem.url, batch: { maxEvents: 20 }, timeoutSeconds: 3_600 })
  // Events that are accepted lie between them: refusals alone would be an error of the sink.
  const entries = place.simulator.entries(101, day).filter((_, index) => index % 20 >= 7)
  const poison = entries.map(({ logId }) => logId)
  expect(poison).toHaveLength(deadLetters)
  siem.answer(({ text }) => ({ status: poison.some((id) => text.includes(id)) ? 400 : 200 }))
  // On the clock on which the dead letters come to be.
  const once = () => endOf(place.entry(['--once', ...clockArguments(shift)]))
  await once()
  expect(siem.taken).toHaveLength(200 - deadLetters)
  siem.answer(() => ({ status: 200 }))
  const command = (...args: readonly string[]) => executeWith(place.configFile, args)
  return {
    place,
    siem,
    day,
    poison,
    once,
    command,
    /** The sink of the same name is a file from now on. */
    intoFiles: () => configure({ name: 'siem', type: 'file', path: place.events }),
    ids: () =>
      linesBelow(place.events)
        .map(({ line }) => line.id)
        .sort(),
    /** A replay that ends itself there. */
    async replayKilled(moment: string) {
      const exit = await endOf(place.entry(['--replay', '--kill', moment]))
      expect(exit.signal, exit.stderr).toBe('SIGKILL')
      // A dead command holds its streams for 20 s.
      forgetHolders(place.database)
    },
    /** A replay to the end: what the killed one had shipped counts too. */
    async replayRest() {
      const { code, stdout, stderr } = await command('dead-letters', 'replay')
      expect([code, stdout], stderr).toEqual([
        0,
        expect.stringMatching(/^siem: \d+ delivered(?:, \d+ already replayed or dropped)?\n$/),
      ])
      expect((await command('dead-letters', 'list')).stdout).toBe('no dead letters\n')
    },
    async deep() {
      const ended = await command('audit', '--zone', '101', '--day', day, '--deep', '--json')
      return JSON.parse(ended.stdout) as object
    },
  }
}

test.for([
  ['before:commit:1', 0],
  ['after:commit:1', 0],
  ['before:commit:2', 0],
  ['after:datasync:2', 0],
  ['before:commit:1', 5],
] as const)(
  'a replay into files that is killed %s, of a day that was %i days ago, ships each dead letter once',
  async ([moment, daysAgo]) => {
    const stage = await poisoned(daysAgo)
    stage.intoFiles()
    await stage.replayKilled(moment)
    await stage.replayRest()
    expect(stage.ids()).toEqual(stage.poison.toSorted())
  },
)

describe('dead letters of a day that can no longer be read', () => {
  test('outlive its checkpoint, and are shipped into its files once', async () => {
    const stage = await poisoned(5)
    const { place, day, poison } = stage
    stage.intoFiles()
    const more = place.simulator.append(101, day, 7).map(({ logId }) => logId)
    await stage.once()
    await prune(place)
    await stage.replayRest()
    expect(stage.ids()).toEqual([...more, ...poison].sort())
    // The checkpoint that was made anew does not know what was shipped before: there is nothing to compare files with.
    const why = expect.stringContaining('the day was shipped, and the state has dropped what') as unknown
    const result = await stage.deep()
    expect(result).toMatchObject({ notCompared: [{ day, why }] })
    expect(result).not.toHaveProperty('files')
  })
})

/** What housekeeping does to a day that ended longer ago than `state.keepDays`. */
async function prune({ database }: Workplace): Promise<void> {
  forgetHolders(database)
  await inStore({ database }, async ({ catalogue, upkeep }) => {
    const streams = (await catalogue.checkpoints()).map(({ stream }) => stream)
    await upkeep.prune(streams, { uncommittedBefore: dayOf(Date.now()), gapsBefore: 0 })
    expect(await catalogue.checkpoints()).toEqual([])
  })
}
