import { expect, test } from 'vitest'
import { clockArguments, createShiftedClock, todayAt } from '../entry/shifted-clock.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { probeAt, type Probe } from './metrics.ts'
import { readableDays, workplace, zones } from './workplace.ts'
import * as faults from '../simulator/faults.ts'

async function probeOf(child: TestProcess): Promise<Probe> {
  const [, address] = await child.waitForLine(/"event":"ServerListening".*"address":"([^"]+)"/)
  return probeAt(address!)
}

/** The shape of a JSON value: names and types, with lists by their first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])]
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]))
}

test('metrics, status and probes show what happened', async () => {
  const place = await workplace({ days: 130, pageSize: 50 }, { server: { port: 0 } })
  const { simulator } = place
  const child = place.start(['run'])
  const probe = await probeOf(child)
  await caughtUp(place, child)
  const whole = zones.length * 3 * 130
  await waitFor(async () => (await probe.total('events_delivered_total')) === whole, { what: 'the count' })
  for (const zone of zones) {
    const labels = `zone="${zone}",sink="archive"`
    expect((await probe.metric('events_delivered_total')).get(labels)).toBe(3 * 130)
    expect((await probe.metric('pages_fetched_total')).get(labels)).toBeGreaterThanOrEqual(9)
    expect((await probe.metric('zone_lag_seconds')).get(labels)).toBeLessThan(60)
    expect((await probe.metric('gaps')).get(labels)).toBe(0)
    expect((await probe.metric('time_to_loss_seconds')).get(labels)).toBeGreaterThan(0)
  }
  const requests = await probe.metric('api_requests_total')
  expect(requests.get('account="default",operation="event_logs",outcome="ok"')).toBeGreaterThanOrEqual(18)
  const asked = await probe.total('api_requests_total')
  expect(asked).toBeLessThanOrEqual(simulator.requests.length)
  expect((await probe.get('/healthz')).status).toBe(200)
  await waitFor(async () => (await probe.get('/readyz')).status === 200, { what: 'readiness' })

  const served = JSON.parse((await probe.get('/status')).text) as { readonly routes: readonly object[] }
  const printed = JSON.parse((await place.ended(['status', '--json'])).stdout) as typeof served
  expect(shapeOf(printed)).toEqual(shapeOf(served))
  expect(printed.routes).toHaveLength(zones.length)
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('lag grows while the API fails, makes the process not ready, and falls again; health is not affected', async () => {
  const fast = todayAt(12, 10)
  const clock = createShiftedClock(fast)
  const place = await workplace({ days: 20, clock }, { server: { port: 0, readyLagSeconds: 20 } })
  const { simulator } = place
  const child = place.entry(clockArguments(fast))
  const probe = await probeOf(child)
  await caughtUp(place, child)
  const label = 'zone="101",sink="archive"'
  const lag = async () => (await probe.metric('zone_lag_seconds')).get(label)!
  const isReady = async () => (await probe.get('/readyz')).status === 200
  await waitFor(async () => (await isReady()) && (await lag()) < 20, { what: 'readiness without lag' })

  simulator.fail({ times: Infinity, fault: faults.status({ status: 503 }) })
  await waitFor(async () => (await lag()) > 30, { what: 'lag' })
  const { status, text } = await probe.get('/readyz')
  expect(status).toBe(503)
  expect(text).toMatch(/has a lag of/)
  expect((await probe.get('/healthz')).status).toBe(200)
  expect(await probe.total('api_requests_total')).toBeGreaterThan(0)
  const failed = await probe.metric('api_requests_total')
  expect(failed.get('account="default",operation="event_logs",outcome="server_error"')).toBeGreaterThan(0)

  simulator.append(101, readableDays()[2], 5)
  simulator.heal()
  await waitFor(async () => (await lag()) < 20, { what: 'less lag' })
  await waitFor(isReady, { what: 'readiness again' })
  await caughtUp(place, child)
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('run --once serves health if a server is configured', async () => {
  const place = await workplace({ days: 100, pageSize: 10, latencyMs: 20 }, { server: { port: 0 } })
  const child = place.start(['run', '--once'])
  const probe = await probeOf(child)
  const total = await waitFor(() => probe.total('events_delivered_total'), { what: 'a delivery' })
  expect(total).toBeLessThanOrEqual(600)
  expect((await probe.get('/healthz')).status).toBe(200)
  const { text } = await probe.get('/readyz')
  expect(text).not.toContain('starting')
  expect(await child.exited).toEqual({ code: 0, signal: null })
})
