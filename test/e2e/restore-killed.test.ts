import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inStore } from '../commands/backfilling.ts'
import { executeWith } from '../commands/workshop.ts'
import { startProgram } from '../setup/processes.ts'
import { compareFiles, exactly, partsBelow } from './shipped.ts'
import { endOf, readableDays, workplace, type Workplace } from './workplace.ts'
import { editCheckpoints, forgetHolders } from '../setup/stores.ts'

const [, yesterday] = readableDays()

const audit = ['audit', '--zone', '101', '--day', yesterday, '--deep', '--repair']

/** A day that was shipped into files that are gone, whose repair is killed then. */
async function killedRepair(moment: string, state: string): Promise<Workplace> {
  const place = await workplace({ zones: [101], days: { [yesterday]: 120 }, pageSize: 20 })
  place.configure({ zones: [101], log: { level: 'error', format: 'json' } })
  expect((await executeWith(place.configFile, ['run', '--once'])).code).toBe(0)
  // As after the last scan of the day, which the API goes on to show.
  if (state === 'complete')
    editCheckpoints(place.database, (body) => ({ ...body, ended: { as: 'complete', atMs: Date.now() } }))
  for (const part of partsBelow(place.events)) rmSync(join(place.events, part))
  const args = ['--kill', moment, '--', ...audit, '-c', place.configFile]
  const killed = await endOf(startProgram('command', args, { cwd: place.folder }))
  expect(killed.signal, killed.stderr).toBe('SIGKILL')
  // What the command held would be its own for 20 s more.
  forgetHolders(place.database)
  return place
}

test.for([
  ['before:datasync:2', 'settling'],
  ['after:datasync:4', 'settling'],
  ['after:datasync:3', 'complete'],
] as const)(
  'a repair of files that is killed at %s has written each line at most once, of a day that is %s',
  async ([moment, state]) => {
    const place = await killedRepair(moment, state)
    await expectEnded(place, audit)
  },
)

test.for([
  ['run', ['run', '--once']],
  ['audit', audit],
  ['backfill', ['backfill', '--from', yesterday, '--to', yesterday]],
] as const)(
  'a repair of a complete day that is killed before the scan that delivers is ended by %s',
  async ([, command]) => {
    // The audit has read six pages; this one is the first of the scan that delivers.
    const place = await killedRepair('after:fetch:7', 'complete')
    // The events count as not delivered, and nothing has delivered them.
    const checkpoint = await inStore(place, (store) =>
      store.ledger.read({ zone: 101, day: yesterday, sink: 'archive' }),
    )
    expect(checkpoint).toMatchObject({
      repairs: 1,
      committed: [],
      needsFull: true,
      counters: { delivered: 0 },
    })
    expect(checkpoint?.ended).toBeUndefined()
    expect(partsBelow(place.events)).toEqual([])
    await expectEnded(place, command)
  },
)

async function expectEnded(place: Workplace, command: readonly string[]): Promise<void> {
  const ended = await executeWith(place.configFile, command)
  expect(ended.code, ended.stdout + ended.stderr).toBe(0)
  expect(compareFiles(place.events, place.simulator, [101], [yesterday])).toEqual(exactly(120))
}
