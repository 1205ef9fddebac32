import { readdirSync, readFileSync } from 'node:fs'
import { extname, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../domain/failure.ts'
import { createTurns, keepLatest, within } from '../domain/promises.ts'
import type { StatusViews } from '../domain/status/status-views.ts'
import type { Clock } from '../ports/process.ts'
import { jsonReply, longJsonReply, type Reply } from './reply.ts'
import { QueryError, readView } from './status-query.ts'

export interface ReadyState {
  readonly ready: boolean
  /** Why it is not ready, for people; empty when ready. */
  readonly reasons: readonly string[]
}

export interface RouteDeps {
  readonly metrics: { text(): Promise<string | readonly string[]>; readonly contentType: string }
  readonly health: () => HealthState
  readonly readiness: () => Promise<ReadyState> | ReadyState
  readonly status: () => Promise<object>
  /** What the status page reads; undefined until the process has its store. */
  readonly views: () => StatusViews | undefined
  readonly clock: Clock
}

export interface Route {
  /** Answers without a token, for probes and the files of the page. */
  readonly open: boolean
  /** Answers with text from events and from destinations, such as a refusal that quotes a field. */
  readonly quotes?: true
  /** `trusted`: the client sent the token, or none is configured. */
  answer(trusted: boolean, parameters: URLSearchParams): Promise<Reply> | Reply
}

/** A probe times out after a few seconds; a client of `status` waits longer. */
const readinessPatienceMs = 4000
const patienceMs = 15_000

/** Throws when the store takes longer than `ms`. Callers share one reading: one that hangs gets no others beside it. */
async function soon<T>(ms: number, work: Promise<T>, clock: Clock): Promise<T> {
  const answer = await within(ms, work, clock)
  if (answer === 'late') throw new Error(`no answer from the store within ${ms / 1000} s`)
  return answer.value
}

export function createRoutes(deps: RouteDeps): ReadonlyMap<string, Route> {
  const { metrics, health, clock } = deps
  const readiness = keepLatest(async () => deps.readiness(), 0, clock)
  const status = keepLatest(deps.status, 0, clock)

  /** The reasons name zones, sinks and accounts: only clients with the token get them. */
  async function readinessReply(trusted: boolean): Promise<Reply> {
    const { ready, reasons } = await soon(readinessPatienceMs, readiness.read(), clock).catch(
      (error: unknown) => ({ ready: false, reasons: [messageOf(error)] }),
    )
    return jsonReply(ready ? 200 : 503, trusted ? { ready, reasons } : { ready })
  }

  async function statusReply(parameters: URLSearchParams): Promise<Reply> {
    try {
      const name = parameters.get('view') ?? 'all'
      if (name === 'all') {
        const whole = await soon(patienceMs, status.read(), clock)
        return longJsonReply(200, whole, createTurns({ clock, turn: setImmediate }))
      }
      const views = deps.views()
      if (views === undefined) return jsonReply(503, { error: 'the process is starting' })
      const view = await soon(patienceMs, readView(name, views, parameters), clock)
      return view === undefined
        ? jsonReply(404, { error: 'this zone, sink or day is not known' })
        : jsonReply(200, view)
    } catch (error) {
      return jsonReply(error instanceof QueryError ? 400 : 503, { error: messageOf(error) })
    }
  }

  const routes: Readonly<Record<string, Route>> = {
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
    '/status': { open: false, quotes: true, answer: (_, parameters) => statusReply(parameters) },
  }
  return new Map([...pageFiles(), ...Object.entries(routes)])
}

const folder = new URL('./page/', import.meta.url)

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * The page may load files and data only from this server; nothing inline, nothing from another host, no frame around
 * it.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The report of an audit is drawn by this process, not by a browser. */
const notServed = 'report'

/** The static files of the status page by path: `/` and `/page/…`. Each is read once, at its first request. */
function pageFiles(): ReadonlyMap<string, Route> {
  const files = new Map<string, Route>()
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const name = path.replaceAll(sep, '/')
    const type = types[extname(name)]
    if (type === undefined || name.startsWith(`${notServed}/`)) continue
    let reply: Reply | undefined
    const answer = () =>
      (reply ??= { status: 200, type, body: readFileSync(new URL(name, folder), 'utf8'), headers })
    files.set(name === 'page.html' ? '/' : `/page/${name}`, { open: true, answer })
  }
  return files
}

/** The last turn of a loop that must keep running (tick, worker), in ms of the monotonic clock. */
interface LoopTurn {
  readonly loop: string
  /** The start of the loop counts as a turn. */
  readonly turnedAtMs: number
}

export type HealthState = ReturnType<typeof healthOf>

const leastPatienceMs = 60_000
const patienceTurns = 3

/**
 * Healthy while every loop has turned recently. The state of the API, the sinks and the store does not count: a restart
 * would not fix them. The answer itself shows that the event loop runs.
 */
export function healthOf(turns: readonly LoopTurn[], everySeconds: number, nowMs: number) {
  const patienceMs = Math.max(leastPatienceMs, patienceTurns * everySeconds * 1000)
  const loops = turns.map(({ loop, turnedAtMs }) => {
    const sinceMs = Math.max(0, nowMs - turnedAtMs)
    return { loop, secondsSinceTurn: Math.round(sinceMs / 1000), healthy: sinceMs <= patienceMs }
  })
  return { healthy: loops.every(({ healthy }) => healthy), loops }
}
