import { expect, onTestFinished, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { NoticedProblem } from '../../src/domain/notices.ts'
import { keepBeating } from '../../src/upkeep/heartbeat.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { keepInternalEvents } from '../sinks/internal-events.ts'

const minute = 60_000

/** A heartbeat every five minutes; the test sets what it says, and whether it may and can. */
function setUp() {
  const clock = createFakeClock()
  const { telemetry, internalEvents } = keepInternalEvents()
  const world = {
    reasons: [] as string[],
    problems: [] as NoticedProblem[],
    leads: true,
    isStoreAway: false,
    failure: undefined as Failure | undefined,
  }
  const sent: (readonly string[])[] = []
  const stopped = new AbortController()
  const running = keepBeating(
    {
      clock,
      telemetry,
      everyMs: 5 * minute,
      notReady: async () => world.reasons,
      problems: async () => world.problems,
      async leads() {
        if (world.isStoreAway) throw new Failure('retry', 'store_unavailable', 'Redis is away')
        return world.leads
      },
      async send(reasons) {
        if (world.failure !== undefined) throw world.failure
        sent.push(reasons)
      },
    },
    stopped.signal,
  )
  onTestFinished(() => (stopped.abort(), running))
  async function after(minutes: number) {
    for (let left = minutes; left > 0; left--) await clock.advance(minute)
    return sent.splice(0)
  }
  return { world, after, names: () => internalEvents.map(({ name }) => name) }
}

test('says at each interval, and not at the start, that all is well, or why not', async () => {
  const { world, after, names } = setUp()
  expect(await after(4)).toEqual([])
  expect(await after(1)).toEqual([[]])
  world.reasons = ['zone 101 → siem has a lag of 1000 s']
  expect(await after(10)).toEqual([world.reasons, world.reasons])
  expect(names()).toEqual(['HeartbeatSent', 'HeartbeatSent', 'HeartbeatSent'])
})

test('says so while lost events or dead letters wait for a person, and not for what passes by itself', async () => {
  const { world, after } = setUp()
  const problem = (kind: NoticedProblem['kind'], text: string) => ({ kind, text, remedy: '' })
  world.problems = [problem('failing', '101 → siem fails: 503.'), problem('filtered', 'All were filtered.')]
  expect(await after(5)).toEqual([[]])
  world.problems = [
    problem('gap', 'Events were lost.'),
    problem('lost', 'siem dropped 3 events.'),
    problem('dead_letters', '2 dead letters in siem.'),
  ]
  expect(await after(5)).toEqual([['Events were lost.', 'siem dropped 3 events.', '2 dead letters in siem.']])
})

test('of several processes the one that leads says it; while that is not known, each that is not ready', async () => {
  const { world, after } = setUp()
  world.leads = false
  expect(await after(10)).toEqual([])
  world.isStoreAway = true
  expect(await after(10)).toEqual([])
  world.reasons = ['the store cannot be read']
  expect(await after(5)).toEqual([world.reasons])
})

test('a monitor that does not answer is told again at the next interval', async () => {
  const { world, after, names } = setUp()
  world.failure = new Failure('retry', 'network', 'heartbeat: connection refused')
  expect(await after(6)).toEqual([])
  expect(names()).toEqual(['HeartbeatFailed'])
  world.failure = undefined
  expect(await after(5)).toEqual([[]])
})
