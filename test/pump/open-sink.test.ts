import { expect, it } from 'vitest'
import type { Gap } from '../../src/domain/stream.ts'
import { Failure } from '../../src/domain/failure.ts'
import { endOf, startOf } from '../../src/domain/day.ts'
import { at, buildCheckpoint, stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, type Stage } from './stage.ts'

const copy = '/events/.shieldlog/aside/shield_zone=1.from-0'

/** A stage whose sink is about to cut lines, if it is told that their day can no longer be read. */
async function cutting(): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf([eventAt(0)], 1)
  stage.script.reconcile = async ({ unreadable }) => unreadable?.lost(copy)
  return stage
}

const gapsOf = ({ internalEvents }: Stage): Gap[] =>
  internalEvents.flatMap((each) => (each.name === 'GapFound' ? [each.gap] : []))

it.each([
  ['while the day can be read for a while', at(71.9), true],
  ['in the last minute in which it can', at(72) - 30_000, false],
  ['when it cannot be read any more', at(72) + 1, false],
])('lines that are cut come back %s: %s', async (_, nowMs, isRead) => {
  const stage = await cutting()
  await stage.clock.advance(nowMs - stage.clock.now())
  stage.script.answer = () => new Failure('retry', 'network', 'x')
  await stage.pump()
  expect(stage.opened.at(-1)!.unreadable === undefined).toBe(isRead)
  const { zone, day, sink } = stream
  const span = { zone, day, sink, from: startOf(day), to: endOf(day), reason: 'unreadable' }
  expect(gapsOf(stage)).toMatchObject(isRead ? [] : [{ ...span, files: [copy] }])
  expect(await stage.store.catalogue.gaps()).toMatchObject(isRead ? [] : [span])
})

it.each([
  { what: 'that is complete', as: 'complete', gaps: 0 },
  { what: 'that is expired', as: 'expired', gaps: 1 },
  { what: 'to which an archive is shipped', as: 'expired', source: 'archive', gaps: 0 },
  { what: 'to which a killed process has shipped an archive', as: 'expired', archiveSinceMs: at(1), gaps: 1 },
] as const)('lines that are cut on a day $what leave $gaps gaps', async ({ as, gaps, ...more }) => {
  const stage = await cutting()
  const note = 'archiveSinceMs' in more && { archiveSinceMs: more.archiveSinceMs }
  await stage.change(() => buildCheckpoint({ ended: { as, atMs: at(1) }, ...note }))
  await stage.pump({ readRequest: { id: 'w', ...('source' in more && { source: more.source }) } })
  expect(stage.opened.at(-1)!.unreadable).toBeDefined()
  expect(gapsOf(stage)).toHaveLength(gaps)
})
