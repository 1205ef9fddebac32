import { describe, expect, it } from 'vitest'
import type { Gap } from '../../src/domain/stream.ts'
import { Failure } from '../../src/domain/failure.ts'
import { endOf, startOf } from '../../src/domain/day.ts'
import { at, buildCheckpoint, stream } from '../domain/builders.ts'
import { LatestPages } from '../../src/pump/latest-pages.ts'
import type { PumpJob } from '../../src/pump/session.ts'
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

/** A stage that has shipped its first page in this process. */
async function polled() {
  const stage = await createStage()
  const latestPages = new LatestPages()
  stage.script.answer = listingOf([eventAt(0)], 10)
  const pump = async (more: Partial<PumpJob> = {}, hours = 1) => {
    await stage.clock.advance(hours * 3_600_000)
    stage.log.length = 0
    await stage.pump(more, undefined, { latestPages })
    return stage.log.join()
  }
  const first = await pump()
  return { stage, pump, first }
}

describe('a pump opens its sink', () => {
  it('first, where it is the first one of its process for the stream', async () => {
    const { first } = await polled()
    expect(first).toBe('open,fetch first,deliver e0,commit 1,close')
  })

  it('not, where a poll finds nothing new', async () => {
    const { pump } = await polled()
    expect(await pump()).toBe('fetch first,commit 2')
  })

  it('before it delivers, where a poll finds something new', async () => {
    const { stage, pump } = await polled()
    stage.script.answer = listingOf([eventAt(0), eventAt(1)], 10)
    expect(await pump()).toBe('fetch first,open,deliver e1,commit 2,close')
    expect(stage.opened.at(-1)).toMatchObject({ committed: (await stage.read())!.committed })
  })

  it('once, where a load after the first one has something new', async () => {
    const { stage, pump } = await polled()
    stage.script.answer = listingOf(
      [0, 1, 2].map((number) => eventAt(number)),
      1,
    )
    expect(await pump()).toBe(
      'fetch first,fetch 1,commit 2,open,deliver e1,commit 3,fetch 2,deliver e2,commit 4,close',
    )
  })

  it('first, where a person asks for the day', async () => {
    const { pump } = await polled()
    expect(await pump({ readRequest: { id: 'r' } })).toMatch(/^open,fetch first,/)
  })

  it('first, where the pump before it has failed: a sink that is down costs the API no request', async () => {
    const { stage, pump } = await polled()
    stage.script.answer = listingOf([eventAt(0), eventAt(1)], 10)
    stage.script.reconcile = () => Promise.reject(new Failure('retry', 'unwritable', 'x'))
    expect(await pump()).toBe('fetch first,open,commit 2')
    expect(await pump()).toBe('open,commit 3')
    stage.script.reconcile = async () => undefined
    expect(await pump()).toMatch(/^open,fetch first,deliver e1,/)
  })

  it('before the commit that ends the stream, though nothing is new', async () => {
    const { stage, pump } = await polled()
    for (let scans = 0; (await stage.read())?.ended === undefined && scans < 10; scans++) await pump({}, 20)
    expect(await stage.read()).toMatchObject({ ended: { as: 'complete' } })
    expect(stage.log.join()).toMatch(/^fetch first,open,commit \d+,close$/)
  })

  it('before a day ends that the API no longer lists', async () => {
    const { stage, pump } = await polled()
    stage.script.answer = () =>
      new Failure('refuse', 'window_closed', 'outside', { serverDate: stage.clock.now() })
    expect(await pump({}, 69.5)).toBe('fetch first,open,commit 2,close')
    expect(await stage.read()).toMatchObject({ ended: { as: 'expired' } })
  })
})
