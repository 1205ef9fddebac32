import { expect, test } from 'vitest'
import { listText, planLines } from '../../../src/commands/backfill/text.ts'
import { paintFor } from '../../../src/commands/terminal/text.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { BackfillPlan } from '../../../src/maintenance/backfill/backfill-plan.ts'

test('a plan shows the time before which events of a day become dead letters', () => {
  const day = '2026-11-21' as Day
  const plan: BackfillPlan = {
    from: day,
    to: day,
    zones: [{ id: 101, name: 'shop', account: 'default' }],
    sinks: ['datadog'],
    streams: [{ stream: { zone: 101, day, sink: 'datadog' }, state: 'queued' }],
    estimate: () => 3,
    delivered: undefined,
    partlyTooOld: [{ day, sink: 'datadog', hours: 18, beforeMs: Date.parse('2026-11-21T18:07:31Z') }],
  }
  const pipe = { write: () => undefined, isTTY: false, hasColors: () => false }
  const lines = planLines(plan, paintFor(pipe))
  expect(lines.join('\n').replaceAll(/\n +/g, ' ')).toContain(
    `${day}  → datadog: events before 18:07 UTC are skipped (too_old): ` +
      'the destination takes none older than 18 h (batch.maxAgeHours)',
  )
})

test('the list says how much of each backfill has been read', () => {
  const day = (date: string, more: object) => ({
    day: date,
    done: 0,
    queued: 0,
    leftOut: 0,
    pages: 0,
    events: 0,
    ...more,
  })
  const backfill = (id: string, days: ReturnType<typeof day>[]) => ({
    id,
    createdAt: '2026-11-22T00:00:00.000Z',
    from: '2026-11-20',
    to: '2026-11-21',
    state: 'running',
    queued: 1,
    done: 1,
    leftOut: 0,
    days,
    reasons: [],
    errors: [],
  })
  const text = listText(
    [
      backfill('half', [
        day('2026-11-20', { done: 1, pages: 4 }),
        day('2026-11-21', { queued: 1, pages: 1, expectedPages: 4 }),
      ]),
      backfill('none', [day('2026-11-20', { leftOut: 1 })]),
    ],
    80,
  )
  expect(text.split('\n').map((line) => line.split(/ {2,}/)[4])).toEqual(['read', '62 %', '-', undefined])
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})
