import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../domain/failure.ts'
import { createTurns, keepLatest, within } from '../domain/promises.ts'
import { inertJson } from '../domain/text/json.ts'
import type { Clock } from '../ports/process.ts'
import { pageFiles, pageRoute } from './page-routes.ts'
import type { Access, PageViews, Reply, Route } from './route.ts'

export interface RouteDeps {
  readonly metrics: { text(): Promise<string | readonly string[]>; readonly contentType: string }
  readonly health: () => HealthState
  /** Why it is not ready, for people; none where it is. */
  readonly notReady: () => Promise<readonly string[]>
  /** One of them that anybody may read. */
  readonly openReason?: () => string | undefined
  readonly status: () => Promise<object>
  /** Undefined until the process has its store. */
  readonly views: () => PageViews | undefined
  readonly clock: Clock
}

/** `/readyz` reads the store at most this often. */
const readAgainMs = 2_000
/** A probe times out after a few seconds; a client of `status` waits longer. */
const readinessPatienceMs = 4000
const patienceMs = 15_000

/** Throws when the store takes longer than `ms`. Callers share one reading: one that hangs gets no others beside it. */
async function soon<T>(ms: number, work: Promise<T>, clock: Clock): Promise<T> {
  const answer = await within(ms, work, clock)
  if (answer === 'late') throw new Error(`no answer from the state within ${ms / 1000} s`)
  return answer.value
}

export function createRoutes(deps: RouteDeps): ReadonlyMap<string, Route> {
  const { metrics, health, clock } = deps
  const notReady = keepLatest(deps.notReady, readAgainMs, clock)
  const status = keepLatest(deps.status, 0, clock)

  /** The reasons name zones, sinks and accounts: only clients with the token get them. */
  async function readinessReply(_: URLSearchParams, access: Access): Promise<Reply> {
    const reasons = await soon(readinessPatienceMs, notReady.read(), clock).catch((error: unknown) => [
      messageOf(error),
    ])
    const ready = reasons.length === 0
    if (access !== 'no token') return jsonReply(ready ? 200 : 503, { ready, reasons })
    const open = deps.openReason?.()
    return jsonReply(ready ? 200 : 503, { ready, ...(open !== undefined && { reasons: [open] }) })
  }

  async function statusReply(): Promise<Reply> {
    try {
      const whole = await soon(patienceMs, status.read(), clock)
      return longJsonReply(200, whole, createTurns({ clock, turn: setImmediate }))
    } catch (error) {
      return jsonReply(503, { error: messageOf(error) })
    }
  }

  const routes: Readonly<Record<string, Route>> = {
    '/': pageRoute(deps.views, (shown) => soon(patienceMs, shown, clock)),
    '/metrics': {
      open: false,
      answer: async () => ({ status: 200, type: metrics.contentType, body: await metrics.text() }),
    },
    '/healthz': {
      open: true,
      answer() {
        const state = health()
        return jsonReply(state.healthy ? 200 : 503, state)
      },
    },
    '/readyz': { open: true, answer: readinessReply },
    '/status': { open: false, quotes: true, answer: statusReply },
  }
  return new Map([...pageFiles(), ...Object.entries(routes)])
}

const jsonType = 'application/json; charset=utf-8'

function textOf(value: unknown): string {
  return inertJson(JSON.stringify(value ?? null))
}

export function jsonReply(status: number, value: unknown, headers?: Reply['headers']): Reply {
  return { status, type: jsonType, body: `${textOf(value)}\n`, ...(headers && { headers }) }
}

/** How many values of a list are written before the event loop may turn. */
const valuesAtOnce = 50

/** The same for an object with long lists, whose text would hold the event loop for long. Any iterable is a list. */
export function longJsonReply(status: number, value: object, letTurn: () => Promise<void>): Reply {
  return { status, type: jsonType, body: jsonParts(value, letTurn) }
}

async function* jsonParts(value: object, letTurn: () => Promise<void>): AsyncGenerator<string> {
  let before = '{'
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue
    yield `${before}${textOf(name)}:`
    before = ','
    if (typeof member !== 'object' || member === null || !(Symbol.iterator in member)) yield textOf(member)
    else yield* listParts(member as Iterable<unknown>, letTurn)
  }
  yield before === '{' ? '{}\n' : '}\n'
}

async function* listParts(values: Iterable<unknown>, letTurn: () => Promise<void>): AsyncGenerator<string> {
  let [before, some] = ['[', [] as unknown[]]
  for (const value of values) {
    if (some.push(value) < valuesAtOnce) continue
    yield before + textOf(some).slice(1, -1)
    ;[before, some] = [',', []]
    await letTurn()
  }
  const last = some.length > 0 || before === '[' ? before : ''
  yield `${last}${textOf(some).slice(1, -1)}]`
}

export type HealthState = ReturnType<typeof healthOf>

const leastPatienceMs = 60_000
const patienceTurns = 3

/**
 * Healthy while every loop that must keep running (tick, worker) has turned recently, by the times of the last turns on
 * the monotonic clock; its start counts as a turn. The state of the API, the sinks and the store does not count: a
 * restart would not fix them. The answer itself shows that the event loop runs.
 */
export function healthOf(turns: ReadonlyMap<string, number>, everySeconds: number, nowMs: number) {
  const mostMs = Math.max(leastPatienceMs, patienceTurns * everySeconds * 1000)
  const loops = [...turns].map(([loop, turnedAtMs]) => {
    const sinceMs = Math.max(0, nowMs - turnedAtMs)
    return { loop, secondsSinceTurn: Math.round(sinceMs / 1000), healthy: sinceMs <= mostMs }
  })
  return { healthy: loops.every(({ healthy }) => healthy), loops }
}
