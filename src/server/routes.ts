import { messageOf } from '../domain/failure.ts'
import { within } from '../domain/within.ts'
import type { Clock } from '../ports/clock.ts'
import type { HealthState } from './health.ts'
import { jsonReply } from './reply.ts'
import type { Reply } from './reply.ts'

export interface ReadyState {
  readonly ready: boolean
  /** Why it is not ready, for people; empty when ready. */
  readonly reasons: readonly string[]
}

export interface RouteDeps {
  readonly metrics: { text(): Promise<string>; readonly contentType: string }
  readonly health: () => HealthState
  readonly readiness: () => Promise<ReadyState> | ReadyState
  readonly status: () => Promise<unknown>
  readonly clock: Clock
}

export interface Route {
  /** Answers without a token, for probes. */
  readonly open: boolean
  /** `trusted`: the client sent the token, or none is configured. */
  answer(trusted: boolean): Promise<Reply> | Reply
}

/** A probe times out after a few seconds; a client of `status` waits longer. */
const readinessPatienceMs = 4000
const patienceMs = 15_000

/**
 * Returns the result of `make`, or rejects when that takes longer than `ms`. Concurrent callers share one call, so a
 * store that hangs gets at most one call per time-out.
 */
function shared<T>(clock: Clock, ms: number, make: () => Promise<T> | T): () => Promise<T> {
  let pending: Promise<T> | undefined

  async function ask(): Promise<T> {
    try {
      const answer = await within(ms, Promise.resolve().then(make), clock)
      if (answer === 'late') throw new Error(`no answer from the store within ${ms / 1000} s`)
      return answer.value
    } finally {
      pending = undefined
    }
  }

  return () => (pending ??= ask())
}

export function createRoutes(deps: RouteDeps): ReadonlyMap<string, Route> {
  const { metrics, health, clock } = deps
  const readiness = shared(clock, readinessPatienceMs, deps.readiness)
  const status = shared(clock, patienceMs, deps.status)

  /** The reasons name zones, sinks and accounts: only clients with the token get them. */
  async function readinessReply(trusted: boolean): Promise<Reply> {
    const { ready, reasons } = await readiness().catch((error: unknown) => ({
      ready: false,
      reasons: [messageOf(error)],
    }))
    return jsonReply(ready ? 200 : 503, trusted ? { ready, reasons } : { ready })
  }

  async function statusReply(): Promise<Reply> {
    try {
      return jsonReply(200, await status())
    } catch (error) {
      return jsonReply(503, { error: messageOf(error) })
    }
  }

  return new Map<string, Route>([
    [
      '/metrics',
      {
        open: false,
        async answer() {
          return { status: 200, type: metrics.contentType, body: await metrics.text() }
        },
      },
    ],
    [
      '/healthz',
      {
        open: true,
        answer() {
          const state = health()
          return jsonReply(state.healthy ? 200 : 503, state)
        },
      },
    ],
    ['/readyz', { open: true, answer: readinessReply }],
    ['/status', { open: false, answer: statusReply }],
  ])
}
