import { describe, expect, it } from 'vitest'
import { failureLines } from '../../src/tasks/audit/findings.ts'
import { shiftDay } from '../../src/domain/day.ts'
import { Failure } from '../../src/domain/failure.ts'
import { detailsOf } from '../../src/tasks/audit/report-days.ts'
import { at, today } from '../domain/builders.ts'
import { story } from '../page/story.ts'
import { depsOf, viewsOf } from '../page/world.ts'

describe('a day', () => {
  const asked = { zone: 101, sink: 'siem', day: today }

  it('has its minutes from the ledger, and their hash, and apart the events with a time outside the day, or without one', async () => {
    const world = story()
    const first = at(0) / 60_000
    world.minutes.set('101/2026-11-20/siem', [
      { minute: -1, count: 2, hash: 2n ** 64n - 1n },
      { minute: first - 1, count: 3, hash: 1n },
      { minute: first, count: 4, hash: 5n },
    ])
    const { ledger } = (await viewsOf(world).views.day(asked))!
    expect(ledger.minutes).toHaveLength(1440)
    expect([ledger.events, ledger.untimed, ledger.minutes[0], ledger.hash]).toEqual([
      9,
      5,
      4,
      '0000000000000005',
    ])
  })

  it('has scans, ordering, gaps, parts, dead letters and the last error', async () => {
    const { views } = viewsOf(story())
    expect(await views.day(asked)).toMatchObject({
      state: 'failing',
      ordering: { order: 'newest-first' },
      scans: [
        { kind: 'full', state: 'complete' },
        { kind: 'incremental', pages: 2 },
      ],
      lastError: { failures: 6 },
      apiDeadlineAt: '2026-11-23T00:00:00.000Z',
    })
    expect(await views.day({ ...asked, day: '2026-11-14' })).toMatchObject({
      state: 'gap',
      gaps: [{ reason: 'unreadable', acknowledgedAt: undefined }],
    })
    expect((await views.day({ ...asked, sink: 'archive' }))?.parts).toHaveLength(2)
    expect((await views.day({ ...asked, zone: 102, sink: 'archive' }))?.objects).toEqual({
      count: 2,
      bytes: 1_234_567,
    })
    expect((await views.day({ ...asked, zone: 107, day: '2026-11-17' }))?.deadLetters).toHaveLength(2)
  })

  it('is unknown if nothing was planned or configured', async () => {
    const { views } = viewsOf(story())
    expect(await views.day({ ...asked, day: '2026-10-01' })).toBeUndefined()
    expect(await views.day({ ...asked, day: '2026-02-30' })).toBeUndefined()
    expect(await views.day({ ...asked, zone: 7 })).toBeUndefined()
  })
})

/** The store fails after the first day. */
function readWith(error: Error) {
  const deps = depsOf(story())
  let reads = 0
  deps.store.ledger.minutes = async () => {
    if (reads++ > 0) throw error
    return []
  }
  const findings = [today, shiftDay(today, -1)].map((day) => ({ zone: 101, name: 'shop', sink: 'siem', day }))
  return detailsOf(findings, deps)
}

it('a store that fails while the details of a report are read costs only the rest of them', async () => {
  const failure = new Failure('retry', 'store_unavailable', 'Redis at 127.0.0.1:6379: connection refused')
  const details = await readWith(failure)
  expect(details.details).toHaveLength(1)
  expect(failureLines({ days: [], findings: [], ...details })).toEqual([
    'the report shows 1 day in detail, and lacks the others: Redis at 127.0.0.1:6379: connection refused; audit again with another --report',
  ])
})

it('an error that is none of the store ends the audit', async () => {
  await expect(readWith(new Error('a bug'))).rejects.toThrow('a bug')
})
