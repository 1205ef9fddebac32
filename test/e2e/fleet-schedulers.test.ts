import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { RedisClient } from '../../src/redis/connection.ts'
import { queuePrefix, tickQueue } from '../../src/schedule/bullmq/queues.ts'
import { connected } from '../redis/connected.ts'
import { redisServerAvailable } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { endTraffic, expectWhole, fleet, said, stopAll, untilWhole, type Fleet } from './fleet.ts'

/** The jobs of ticks that were taken up since an instant of the server's clock, in their order. */
async function ticksSince(client: RedisClient, keyPrefix: string, seconds: number): Promise<string[]> {
  const key = `${queuePrefix(keyPrefix)}:${tickQueue}:events`
  const found = await client.xrange(key, `${seconds * 1000}`, '+')
  return found.flatMap(([, fields]) => {
    const event = Object.fromEntries(
      Array.from({ length: fields.length / 2 }, (_, at) => [fields[2 * at], fields[2 * at + 1]] as const),
    ) as { readonly event?: string; readonly jobId?: string }
    return event.event === 'active' ? [event.jobId!] : []
  })
}

/** Waits for pages of today that were asked for from now on: what only a tick brings about once all is read. */
async function untilPolled({ place, days, members }: Fleet): Promise<void> {
  const fromMs = Date.now()
  const polls = () => place.simulator.requests.filter(({ at, day }) => at > fromMs && day === days[2])
  await waitFor(() => new Set(polls().map(({ zone }) => zone)).size === 4, {
    what: () => `polls of all zones${said({ members })}`,
  })
}

describe.skipIf(!redisServerAvailable())('schedulers', () => {
  test('that are killed, replaced and doubled run each tick once, and ship each event once', async () => {
    const live = { ratePerSecond: 3 }
    const all = await fleet({ simulator: { days: 300, pageSize: 20, latencyMs: 100, live } })
    const { simulator } = all.place
    await all.startWorkers('a', 'b')
    const first = all.start('scheduler', 'first')
    await waitFor(() => simulator.requests.length > 30, {
      what: () => `pages${said(all)}`,
    })
    await first.kill('SIGKILL')
    const second = all.start('scheduler', 'second')
    simulator.set({ latencyMs: 5 })
    await untilPolled(all)
    await second.kill('SIGKILL')
    const both = [all.start('scheduler', 'third'), all.start('scheduler', 'fourth')]
    for (const scheduler of both) await scheduler.waitForLine(/"event":"Started"/)
    await untilPolled(all)

    const { url, keyPrefix } = all.redis
    const client = connected(url)
    // Events bear the time of the server.
    const [serverSeconds] = await client.time()
    const fromMs = performance.now()
    await sleep(6_000)
    const ticks = await ticksSince(client, keyPrefix, Number(serverSeconds) + 1)
    const seconds = (performance.now() - fromMs) / 1000
    // One a second, whoever schedules; and each is taken up once.
    expect(ticks.length).toBeGreaterThan(0)
    expect(ticks.length).toBeLessThanOrEqual(seconds + 2)
    expect(new Set(ticks).size).toBe(ticks.length)
    endTraffic(all)
    await untilWhole(all)
    await stopAll(all)
    await expectWhole(all)
  })
})
