import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { shiftDay } from '../../src/domain/day.ts'
import { Failure } from '../../src/domain/failure.ts'
import { plan } from '../../src/domain/plan/plan.ts'
import { noticesOf } from '../../src/domain/notices.ts'
import { problemsOf } from '../../src/status/problems.ts'
import { Planner } from '../../src/plan/planner.ts'
import { cellOn } from '../../src/status/map.ts'
import { observe, observeRoute } from '../../src/status/observe.ts'
import { at, buildCheckpoint, buildRecord, hourMs, policy, stream, today } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone } from '../pump/stage.ts'

async function observed() {
  const stage = await createStage()
  const other = { id: 7, name: 'never read', account: 'default' }
  const settings = () => ({
    zones: [zone, other],
    sinks: [stream.sink],
    policy: { ...policy, firstRunDays: 1 },
  })
  const deps = { ...stage, telemetry: stage.deps.telemetry, turn: setImmediate, settings }
  const planner = new Planner(deps)
  return { stage, look: () => observe({ ...deps, planner }) }
}

describe('the observation of the store', () => {
  it('has a lag for every configured zone and sink, read or not', async () => {
    const { stage, look } = await observed()
    stage.script.answer = listingOf([eventAt(0)], 5)
    await stage.pump()
    const { routes } = await look()
    expect(routes).toMatchObject([
      {
        summary: { zone: zone.id, lagSeconds: 0, timeToLossSeconds: 70 * 3600 },
        caughtUpAtMs: stage.clock.now() - 100,
        newestMs: at(1),
        gaps: [],
      },
      { summary: { zone: 7, lagSeconds: 2 * 3600 }, newestMs: undefined, gaps: [] },
    ])
  })

  it('counts streams by state, gaps and dead letters, and what waits, runs and backs off', async () => {
    const { stage, look } = await observed()
    stage.script.answer = () => new Failure('retry', 'network', 'no route')
    await stage.pump()
    const gap = { sink: stream.sink, day: shiftDay(today, -5), reason: 'not_running' } as const
    const times = { from: 1, to: 2, recordedAt: 3 }
    const gaps = [zone.id, 999].map((id) => ({ ...gap, ...times, zone: id }))
    await stage.store.catalogue.addGaps(gaps)
    const snapshot = await look()
    expect([...snapshot.routes, snapshot].map((each) => each.gaps)).toEqual([gaps.slice(0, 1), [], gaps])
    expect(snapshot.streams).toEqual({ open: 2, settling: 0, complete: 0, expired: 0 })
    const live = snapshot.queues.filter(({ priority }) => priority === 'live')
    const jobs = Object.fromEntries(live.map(({ state, jobs }) => [state, jobs]))
    expect(jobs).toMatchObject({ waiting: 1, active: 0, delayed: 1 })
  })

  it.each(['live', 'backfill'] as const)('counts what backs off at its own priority: %s', async (failing) => {
    const { stage, look } = await observed()
    const backfill = { id: 'b1', createdAtMs: 1, from: today, to: today, state: 'running' } as const
    await stage.store.backfills.add({ ...backfill, streams: [{ stream, state: 'queued' }] })
    stage.script.answer = () => new Failure('retry', 'network', 'no route')
    await stage.pump(failing === 'live' ? {} : { priority: 'backfill', readRequest: { id: 'b1' } })
    const { queues } = await look()
    const delayed = queues.filter(({ state, jobs }) => state === 'delayed' && jobs > 0)
    expect(delayed).toEqual([{ sink: stream.sink, priority: failing, state: 'delayed', jobs: 1 }])
  })
})

const shop = { id: stream.zone, name: 'shop', account: 'default' }

/** The route at twelve o'clock of a day whose stream ended at eleven. */
function routeAt(nowMs: number, more: Partial<Checkpoint>) {
  const counters = { ...buildCheckpoint().counters, pages: 3 }
  const checkpoints = [buildCheckpoint({ lastFull: buildRecord(), counters, ...more })]
  const { sink } = stream
  const routes = [{ zone: shop.id, sink, firstDay: today, plannedAtMs: nowMs }]
  const live = plan({ nowOf: () => nowMs, zones: [shop], sinks: [sink], policy, checkpoints, routes })
  const planned = { zone: shop, sink, streams: live, live, checkpoints }
  const time = { nowMs, policy }
  const observed = observeRoute(planned, { time, gaps: [] })
  return { observed, cell: cellOn(today, observed, [])?.state }
}

const nothing = {
  workers: [],
  deadLetters: [],
  unconfigured: [],
  gaps: [],
  foreign: [],
  differences: [],
  newSince: undefined,
  blindSinks: [],
  settings: { zones: [zone], sinks: [stream.sink], policy },
}

test.for(['complete', 'expired'] as const)(
  'a route whose current day has ended as %s is failing, says why, and has a lag that grows',
  (as) => {
    const ended = { ended: { as, atMs: at(11) }, caughtUpAtMs: at(10.9) }
    const { observed, cell } = routeAt(at(12), ended)
    expect([observed.summary.state, cell]).toEqual(['failing', 'failing'])
    expect(observed.summary.lagSeconds).toBe(3960)
    const { summary } = observed
    expect(summary.lastError).toMatchObject({
      code: 'day_ended',
      message: `the stream of ${today} has ended as ${as} before the day has, by a clock that was wrong: what is new on this day is not shipped`,
      retryAt: new Date(at(24)).toISOString(),
    })
    const worker = { role: 'all', name: 'one' } as const
    const at12 = new Date(at(12)).toISOString()
    expect(problemsOf({ ...nothing, at: at12, workers: [worker], routes: [observed] })).toMatchObject([
      { kind: 'failing', remedy: expect.stringContaining('shieldlog backfill') as string },
    ])
  },
)

test('a caught-up time that a wrong clock wrote hides nothing', () => {
  const { observed } = routeAt(at(12), {
    ended: { as: 'complete', atMs: at(80) },
    caughtUpAtMs: at(80),
  })
  expect(observed.summary.state).toBe('failing')
  expect(observed.summary.lagSeconds).toBe(12 * 3600)
})

test('a route whose past days have ended is up to date', () => {
  const { observed } = routeAt(at(12), { caughtUpAtMs: at(12) - 5_000 })
  expect(observed.summary.state).toBe('up_to_date')
  const yesterday = buildCheckpoint({
    stream: { ...stream, day: shiftDay(today, -1) },
    ended: { as: 'complete', atMs: at(0) + hourMs },
  })
  expect(
    routeAt(at(30), { ...yesterday, stream: yesterday.stream }).observed.summary.lastError,
  ).toBeUndefined()
})

test('a failure is told to other services without the words of the answer, which may quote what a client wrote', () => {
  const message = "sink siem: answered 400: Preview: '[Sign in](https://evil.example) @everyone 203.0.113.77'"
  const failure = {
    kind: 'refuse',
    code: 'sink_refuses',
    message,
    count: 3,
    atMs: at(11),
    sinceMs: at(9),
    retryAtMs: at(13),
  } as const
  const { observed } = routeAt(at(12), { trouble: failure })
  const [problem] = problemsOf({ ...nothing, at: new Date(at(12)).toISOString(), routes: [observed] }).filter(
    ({ kind }) => kind === 'failing',
  )
  expect(problem?.text).toContain('evil.example')
  expect(problem?.brief).toMatch(
    /fails: sink_refuses; since 09:00, next try 13:00\. shieldlog status shows the error\.$/,
  )
  const notices = noticesOf([], [problem!], at(12)).concat(
    noticesOf(
      noticesOf([], [problem!], at(12)).map(({ known }) => known),
      [problem!],
      at(13),
    ),
  )
  expect(JSON.stringify(notices)).not.toMatch(/evil|everyone|203\.0/)
})
