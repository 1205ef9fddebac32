import { expect, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { shiftDay } from '../../src/domain/day.ts'
import { plan } from '../../src/domain/plan/plan.ts'
import { problemsOf } from '../../src/domain/status/problems.ts'
import { observeRoute } from '../../src/status/observe.ts'
import { routeSummary } from '../../src/status/route-status.ts'
import { cellOn, cellStateOf } from '../../src/status/map.ts'
import { at, buildCheckpoint, buildRecord, hourMs, policy, stream, today } from '../domain/builders.ts'

const zone = { id: stream.zone, name: 'shop', account: 'default' }

/** The route at twelve o'clock of a day whose stream ended at eleven. */
function routeAt(nowMs: number, more: Partial<Checkpoint>) {
  const counters = { ...buildCheckpoint().counters, pages: 3 }
  const checkpoints = [buildCheckpoint({ lastFull: buildRecord(), counters, ...more })]
  const { sink } = stream
  const routes = [{ zone: zone.id, sink, firstDay: today, plannedAtMs: nowMs }]
  const live = plan({ nowOf: () => nowMs, zones: [zone], sinks: [sink], policy, checkpoints, routes })
  const planned = { zone, sink, streams: live, live, checkpoints }
  const time = { nowMs, policy }
  const cell = cellOn(today, { planned, gaps: [], deadLetters: [] })!
  return { observed: observeRoute(planned, { time, gaps: [] }), cell: cellStateOf(cell, time) }
}

test.for(['complete', 'expired'] as const)(
  'a route whose current day has ended as %s is failing, says why, and has a lag that grows',
  (as) => {
    const ended = { ended: { as, atMs: at(11) }, caughtUpAtMs: at(10.9) }
    const { observed, cell } = routeAt(at(12), ended)
    expect([observed.standing, cell]).toEqual(['failing', 'failing'])
    expect(observed.figures.lagSeconds).toBeCloseTo(1.1 * 3600, 5)
    const summary = routeSummary(observed)
    expect(summary.lastError).toMatchObject({
      code: 'day_ended',
      message: `the stream of ${today} has ended as ${as} before the day has, by a clock that was wrong: what is new on this day is not shipped`,
      retryAt: new Date(at(24)).toISOString(),
    })
    const worker = { role: 'all', name: 'one' } as const
    const route = { ...summary, gaps: [], days: [] }
    const facts = { at: new Date(at(12)).toISOString(), workers: [worker], deadLetters: [], unconfigured: [] }
    expect(problemsOf({ ...facts, routes: [route] })).toMatchObject([
      { kind: 'failing', remedy: expect.stringContaining('shieldlog backfill') as string },
    ])
  },
)

test('a caught-up time that a wrong clock wrote hides nothing', () => {
  const { observed } = routeAt(at(12), {
    ended: { as: 'complete', atMs: at(80) },
    caughtUpAtMs: at(80),
  })
  expect(observed.standing).toBe('failing')
  expect(observed.figures.lagSeconds).toBe(12 * 3600)
})

test('a route whose past days have ended is up to date', () => {
  const { observed } = routeAt(at(12), { caughtUpAtMs: at(12) - 5_000 })
  expect(observed.standing).toBe('up_to_date')
  const yesterday = buildCheckpoint({
    stream: { ...stream, day: shiftDay(today, -1) },
    ended: { as: 'complete', atMs: at(0) + hourMs },
  })
  expect(routeAt(at(30), { ...yesterday, stream: yesterday.stream }).observed.trouble).toBeUndefined()
})
