import { expect, test } from 'vitest'
import type { BackfillPlan } from '../../../src/assemble/tasks/backfill.ts'
import { planLines } from '../../../src/commands/backfill/text.ts'
import { paintFor } from '../../../src/commands/terminal/terminal.ts'
import type { Day } from '../../../src/domain/day.ts'

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
