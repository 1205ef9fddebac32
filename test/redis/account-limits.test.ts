import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { sharedLimits } from '../../src/redis/account-limits.ts'
import type { AccountGate } from '../../src/ports/process.ts'
import { createGate } from '../../src/shield/client/account-gate.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { redisAvailable, redisServerAvailable, startRedis, useRedis, type TestRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { connected } from './connected.ts'

const never = new AbortController().signal

/** The gate that a process of its own would have. */
function gateAt({ url, keyPrefix }: TestRedis, account = 'main', rate: number | null = null): AccountGate {
  const limits = { account, maxRequestsPerSecond: rate }
  const shared = sharedLimits(connected(url), keyPrefix, systemClock)(account, rate)
  return createGate(limits, systemClock, shared)
}

const throttled = { kind: 'wait', code: 'throttled' }

describe.skipIf(!redisAvailable())('a gate shared by processes', () => {
  it('stops every process of the account at once, and no other account', async () => {
    const redis = await useRedis()
    const [first, second, other] = ['main', 'main', 'other'].map((account) => gateAt(redis, account))
    // In a process that sends no request.
    const idle = gateAt(redis)
    await Promise.all([first, second, other].map((gate) => gate!.enter(never, 'live')))
    expect(await idle.pausedUntil()).toBeUndefined()
    const until = Date.now() + 60_000
    // On a busy machine an answer may come too late, and a gate then goes by what it knows alone.
    const untilRefused = async () => {
      await first!.pauseUntil(until)
      return second!.enter(never, 'live').then(
        () => undefined,
        (error: unknown) => error,
      )
    }
    expect(await waitFor(untilRefused, { what: 'the pause in the other process' })).toMatchObject(throttled)
    for (const gate of [second!, idle])
      expect(Math.abs(((await gate.pausedUntil()) ?? 0) - until)).toBeLessThan(5_000)
    await other!.enter(never, 'live')
    expect(await other!.pausedUntil()).toBeUndefined()
  })

  it('asks Redis once in 100 ms where there is no rate', async () => {
    const { url, keyPrefix } = await useRedis()
    const clock = createFakeClock()
    const { take, pause } = sharedLimits(connected(url), keyPrefix, clock)('main', null)
    const askOften = () => Promise.all([1, 2, 3].map(() => take({ longestWaitMs: 0, mayWait: true })))
    await askOften()
    await pause(60_000)
    await clock.advance(99)
    expect((await askOften()).map((place) => place?.[0])).toEqual(['pass', 'pass', 'pass'])
    await clock.advance(1)
    expect((await askOften()).map((place) => place?.[0])).toEqual(['paused', 'paused', 'paused'])
  })

  it('never shortens a pause, whoever asks for it', async () => {
    const { url, keyPrefix } = await useRedis()
    const [first, second] = [1, 2].map(() =>
      sharedLimits(connected(url), keyPrefix, systemClock)('main', null),
    )
    // On a busy machine an answer may come too late.
    const isPaused = async () => {
      await first!.pause(60_000)
      await second!.pause(100)
      return ((await first!.pausedMs()) ?? 0) > 50_000
    }
    await waitFor(isPaused, { what: 'the pause', everyMs: 1_100 })
  })

  it('keeps one rate for any number of callers', async () => {
    const redis = await useRedis()
    const gates = [1, 2, 3].map(() => gateAt(redis, 'main', 20))
    const began = performance.now()
    const passed: number[] = []
    await Promise.all(
      gates.flatMap((gate) =>
        Array.from({ length: 7 }, async () => {
          await gate.enter(never, 'live')
          passed.push(performance.now() - began)
        }),
      ),
    )
    // 21 places, 50 ms apart, whoever asked for them.
    expect(passed).toHaveLength(21)
    expect(Math.max(...passed)).toBeGreaterThanOrEqual(990)
  })

  // Below one request in 62 s a place lies further ahead than any wait and any line.
  it.each([0.000_1, 0.001, 0.01, 0.016, 0.02, 0.1, 0.3])(
    'lets one request through at once at %d a second',
    async (rate) => {
      const redis = await useRedis()
      const gates = [gateAt(redis, 'main', rate), gateAt(redis, 'main', rate)]
      const answers: string[] = []
      for (let turn = 0; turn < 6; turn++)
        for (const [index, priority] of (['live', 'backfill'] as const).entries())
          answers.push(
            await gates[index]!.enter(never, priority).then(
              () => 'passed',
              (error: unknown) => {
                const { details } = error as { details: { retryAt: number } }
                expect(details.retryAt).toBeGreaterThan(Date.now())
                return 'refused'
              },
            ),
          )
      expect(answers).toEqual(['passed', ...Array.from({ length: 11 }, () => 'refused')])
    },
  )

  it('gives a backfill only a place that is free, whichever process asks for the others', async () => {
    const redis = await useRedis()
    const [live, backfill] = [gateAt(redis, 'main', 4), gateAt(redis, 'main', 4)]
    await live.enter(never, 'live')
    const passed: string[] = []
    const enter = async (gate: AccountGate, priority: 'live' | 'backfill') => {
      await gate.enter(never, priority)
      passed.push(priority)
    }
    const backfills = enter(backfill, 'backfill')
    await Promise.all([enter(live, 'live'), enter(live, 'live'), backfills])
    expect(passed).toEqual(['live', 'live', 'backfill'])
  })

  it('rejects requests that would wait for long, each with a different time', async () => {
    const redis = await useRedis()
    const gate = gateAt(redis, 'main', 2)
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        gate.enter(never, 'live').then(
          () => 'passed',
          (error: unknown) => (error as { details: { retryAt: number } }).details.retryAt,
        ),
      ),
    )
    const sentAway = answers.filter((answer) => answer !== 'passed')
    expect(sentAway.length).toBeGreaterThanOrEqual(6)
    expect(new Set(sentAway).size).toBe(sentAway.length)
  })

  it('notices a pause that begins while a request waits for its turn', async () => {
    const redis = await useRedis()
    const [asking, pausing] = [gateAt(redis, 'main', 1), gateAt(redis, 'main', 1)]
    await asking.enter(never, 'live')
    const entering = asking.enter(never, 'live')
    await pausing.pauseUntil(Date.now() + 60_000)
    await expect(entering).rejects.toMatchObject(throttled)
  })
})

describe.skipIf(!redisServerAvailable())('a shared gate while Redis', () => {
  it('is down limits each process alone, and all together when it is back', async () => {
    const server = await startRedis()
    const [first, second] = [gateAt(server), gateAt(server)]
    await Promise.all([first.enter(never, 'live'), second.enter(never, 'live')])
    await server.kill()
    await Promise.all([first.enter(never, 'live'), second.enter(never, 'live')])
    await first.pauseUntil(Date.now() + 60_000)
    await expect(first.enter(never, 'live')).rejects.toMatchObject(throttled)
    await second.enter(never, 'live')
    await server.restart()
    await waitFor(
      async () => {
        await first.pauseUntil(Date.now() + 60_000)
        return second.enter(never, 'live').then(
          () => false,
          () => true,
        )
      },
      { what: 'the pause in the other process', everyMs: 200 },
    )
  })

  it('does not answer never delays a request', async () => {
    const server = await startRedis()
    const gate = gateAt(server, 'main', 50)
    await gate.enter(never, 'live')
    await server.pause()
    for (let turn = 0; turn < 20; turn++) await gate.enter(never, 'live')
    await gate.pauseUntil(Date.now() + 60_000)
    await expect(gate.enter(never, 'live')).rejects.toMatchObject(throttled)
    await server.resume()
  })
})
