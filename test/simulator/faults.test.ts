import { expect, test } from 'vitest'
import { scenarios } from '../../src/simulator/faults.ts'
import { pathOf, startAsking, today, type EventLogPage } from './asking.ts'
import * as faults from './faults.ts'

test('rules apply as often as configured, to matching requests, the first rule first, until they are removed', async () => {
  const { simulator, ask, statusOf, page } = await startAsking({ days: 20, pageSize: 10 })
  const { continuationToken } = await page(null)
  const fail = (match: object, status: number, times = 1) =>
    simulator.fail({ match, times, fault: faults.status({ status }) })
  fail({ firstPage: false }, 501)
  fail({ zone: 102, firstPage: true }, 502, 2)
  fail({ day: '2026-11-19' }, 503)
  fail({ operation: 'volumes' }, 504)
  const day = '2026-11-19'
  expect(await statusOf(null)).toBe(200)
  expect(await statusOf(null, { zone: 102, day })).toBe(502)
  expect(await statusOf(null, { day })).toBe(503)
  expect(await statusOf(null, { zone: 102, day })).toBe(502)
  expect(await statusOf(null, { zone: 102, day })).toBe(200)
  expect(await statusOf(continuationToken)).toBe(501)
  expect(await statusOf(continuationToken)).toBe(200)
  expect((await ask('/mc/apps/a/volumes')).status).toBe(504)
  simulator.fail({ every: 3, times: Infinity, fault: faults.status({ status: 505 }) })
  const statuses: number[] = []
  for (let turn = 0; turn < 6; turn++) statuses.push(await statusOf(null))
  expect(statuses).toEqual([200, 200, 505, 200, 200, 505])
  simulator.heal()
  for (let turn = 0; turn < 3; turn++) expect(await statusOf(null)).toBe(200)
})

const ofEventLogs = Object.keys(scenarios).filter((name) =>
  scenarios[name]!.every(({ match }) => match?.operation === 'eventLogs'),
)

test.each(ofEventLogs)('under %s every entry can still be read', async (name) => {
  const { simulator, ask, clock } = await startAsking({ days: 60, pageSize: 2 })
  clock.autoAdvance(true)
  for (const rule of scenarios[name] ?? []) simulator.fail(rule)
  const wanted = new Set(simulator.entries(101, today).map((entry) => entry.logId))
  let token: string | null = null
  // A reader that asks for a page again until it makes sense.
  for (let turn = 0; turn < 200 && wanted.size > 0; turn++) {
    const reply = await ask(pathOf(token), { signal: AbortSignal.timeout(500) }).catch(() => undefined)
    if (reply?.status !== 200 || !reply.text.startsWith('{')) continue
    const page = JSON.parse(reply.text) as EventLogPage
    for (const { logId } of page.logs ?? []) wanted.delete(logId)
    token = page.hasMoreData ? page.continuationToken : null
  }
  expect(wanted.size).toBe(0)
  expect(simulator.requests.filter((request) => request.fault !== undefined)).not.toEqual([])
})
