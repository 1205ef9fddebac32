import { readdirSync, readFileSync } from 'node:fs'
import { extname, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../domain/failure.ts'
import { createTurns, keepLatest, within } from '../domain/promises.ts'
import { cellStates, mapSorts, type DayQuery, type MapQuery } from '../domain/status/status.ts'
import type { Clock } from '../ports/process.ts'
import { jsonReply, longJsonReply, type Reply } from './reply.ts'
import { printable } from '../domain/text/terminal-text.ts'

/** What the status page reads: values that become JSON; undefined for a zone, sink or day that is not known. */
export interface PageViews {
  map(query: MapQuery): unknown
  day(query: DayQuery): unknown
  deadLetters(query: DayQuery): unknown
  tail(query: { readonly zone: number; readonly after: number }): unknown
}

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
  /** Undefined until the process has its store. */
  readonly views: () => PageViews | undefined
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

/** Files and data come only from this server; nothing inline, nothing from another host, no frame around it. */
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

/** The query of a request is wrong. The message names the value. */
export class QueryError extends Error {}

const usualSize = 25
const mostSize = 100
const longestFilter = 200

type Parameters = URLSearchParams

const views: Readonly<Record<string, (views: PageViews, parameters: Parameters) => unknown>> = {
  map: (views, parameters) =>
    views.map({
      filter: (parameters.get('filter') ?? '').slice(0, longestFilter),
      sink: given(parameters, 'sink'),
      state: oneOf(parameters, 'state', cellStates),
      sort: oneOf(parameters, 'sort', mapSorts) ?? 'state',
      page: wholeNumber(parameters, 'page', 1_000_000) ?? 1,
      size: wholeNumber(parameters, 'size', mostSize) ?? usualSize,
    }),
  day: (views, parameters) => views.day(dayQuery(parameters)),
  'dead-letters': (views, parameters) => views.deadLetters(dayQuery(parameters)),
  tail: (views, parameters) =>
    views.tail({ zone: zoneOf(parameters), after: wholeNumber(parameters, 'after') ?? 0 }),
}

/** Reads the view of that name. Unknown parameters are ignored. Rejects with QueryError. */
export async function readView(name: string, from: PageViews, parameters: Parameters): Promise<unknown> {
  const read = Object.hasOwn(views, name) ? views[name] : undefined
  if (read !== undefined) return read(from, parameters)
  const known = `use ${Object.keys(views).join(', ')}, or none for everything`
  throw new QueryError(`view ${quoted(name)} does not exist; ${known}`)
}

/** An empty one is none. */
function given(parameters: Parameters, name: string): string | undefined {
  const text = parameters.get(name)
  return text === '' || text === null ? undefined : text
}

function dayQuery(parameters: Parameters): DayQuery {
  const [sink, day] = [parameters.get('sink'), parameters.get('day')]
  if (sink === null || day === null) throw new QueryError('this view needs sink and day (YYYY-MM-DD)')
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new QueryError(`day ${quoted(day)} is not YYYY-MM-DD`)
  return { zone: zoneOf(parameters), sink, day }
}

function zoneOf(parameters: Parameters): number {
  const zone = wholeNumber(parameters, 'zone')
  if (zone === undefined) throw new QueryError('this view needs zone (its id)')
  return zone
}

function oneOf<Name extends string>(parameters: Parameters, name: string, allowed: readonly Name[]) {
  const text = given(parameters, name)
  const found = allowed.find((each) => each === text)
  if (found !== undefined || text === undefined) return found
  throw new QueryError(`${name} ${quoted(text)} is none of ${allowed.join(', ')}`)
}

function wholeNumber(parameters: Parameters, name: string, most = Number.MAX_SAFE_INTEGER) {
  const text = given(parameters, name)
  if (text === undefined) return undefined
  const value = /^\d+$/.test(text) ? Number(text) : NaN
  if (value >= 1 && value <= most) return value
  throw new QueryError(`${name} ${quoted(text)} is not a whole number from 1 to ${most}`)
}

function quoted(text: string): string {
  return JSON.stringify(printable(text, 100))
}
