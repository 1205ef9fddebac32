import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { dayOf } from '../../src/domain/day.ts'
import { forgetHolders, openSqliteStore } from '../setup/stores.ts'
import { executeWith } from '../commands/workshop.ts'
import { poisoned, type Poisoned } from './poisoned.ts'
import { linesBelow } from './shipped.ts'
import { endOf } from './workplace.ts'

interface Deep {
  readonly files: readonly { readonly isEqual: boolean; readonly lines: number; readonly ledger: number }[]
}

/** What housekeeping does to a day that ended longer ago than `state.keepDays`. */
async function prune(path: string): Promise<void> {
  forgetHolders(path)
  const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1e9 })
  const streams = (await store.catalogue.checkpoints()).map(({ stream }) => stream)
  await store.upkeep.prune(streams, { uncommittedBefore: dayOf(Date.now()), gapsBefore: 0 })
  expect(await store.catalogue.checkpoints()).toEqual([])
  await store.close()
}

/** Parts of the file sink beside the dead letters. */
async function withParts(stage: Poisoned): Promise<string[]> {
  const { place, day } = stage
  stage.intoFiles()
  const more = place.simulator.append(101, day, 7).map(({ logId }) => logId)
  const ended = await endOf(place.entry(['--once', ...stage.clock]))
  expect(ended.code, ended.stderr).toBe(0)
  return more
}

test('dead letters outlive the checkpoint of their day, and are shipped into its files once', async () => {
  const stage = await poisoned('sqlite', -5)
  const more = await withParts(stage)
  const { place, day, poison } = stage
  await prune(place.database)
  const replayed = await executeWith(place.configFile, ['dead-letters', 'replay'])
  expect([replayed.code, replayed.stdout], replayed.stderr).toEqual([0, `siem: ${poison.length} delivered\n`])
  const ids = linesBelow(place.events).map(({ line }) => line.id)
  expect(ids.sort()).toEqual([...more, ...poison].sort())
  // The checkpoint that was made anew has ended. It does not know what was shipped before, and leaves it as it is.
  const audit = await executeWith(place.configFile, [
    'audit',
    '--zone',
    '101',
    '--day',
    day,
    '--deep',
    '--json',
  ])
  const count = poison.length
  expect((JSON.parse(audit.stdout) as Deep).files).toMatchObject([
    { isEqual: true, lines: count, ledger: count },
  ])
})

test('dead letters, kept or dropped, do not count as missing lines', async () => {
  const stage = await poisoned('sqlite', -5)
  const more = await withParts(stage)
  const { place, day, poison } = stage
  // Before it became a file the sink had taken the rest over HTTP: those lines are nowhere.
  const audit = async () => {
    const ended = await executeWith(place.configFile, [
      'audit',
      '--zone',
      '101',
      '--day',
      day,
      '--deep',
      '--json',
    ])
    return (JSON.parse(ended.stdout) as { files: readonly object[] }).files[0]
  }
  const taken = 200 - poison.length
  const ledger = 200 + more.length
  const lines = more.length
  expect(await audit()).toMatchObject({
    ledger,
    lines,
    deadLetters: poison.length,
    dropped: 0,
    filtered: 0,
    missing: taken,
  })
  await executeWith(place.configFile, ['dead-letters', 'drop', '--sink', 'siem', '--day', day, '--yes'])
  expect(await audit()).toMatchObject({
    ledger,
    lines,
    deadLetters: 0,
    dropped: poison.length,
    missing: taken,
  })
})
