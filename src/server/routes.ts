import { readdirSync, readFileSync } from 'node:fs'
import { extname, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../domain/failure.ts'
import { createTurns, keepLatest, within } from '../domain/promises.ts'
import { cellStates, mapSorts, type DayQuery, type MapQuery } from '../status/queries.ts'
import { inertJson } from '../domain/text/json.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { Clock } from '../ports/process.ts'

export interface Reply {
  readonly status: number
  readonly type: string
  /** Parts of a long one are sent as they are made, no faster than the client reads them. */
  readonly body: string | Iterable<string> | AsyncIterable<string>
  readonly headers?: Readonly<Record<string, string>>
}

/** What the status page reads: values that become JSON; undefined for a zone, sink or day that is not known. */
export interface PageViews {
  map(query: MapQuery): unknown
  day(query: DayQuery): unknown
  deadLetters(query: DayQuery): unknown
  tail(query: { readonly zone: number; readonly after: number }): unknown
}

export interface RouteDeps {
  readonly metrics: { text(): Promise<string | readonly string[]>; readonly contentType: string }
  readonly health: () => HealthState
  /** Why it is not ready, for people; none where it is. */
  readonly notReady: () => Promise<readonly string[]>
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

/** `/readyz` reads the store at most this often. */
const readAgainMs = 2_000
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
  const notReady = keepLatest(deps.notReady, readAgainMs, clock)
  const status = keepLatest(deps.status, 0, clock)

  /** The reasons name zones, sinks and accounts: only clients with the token get them. */
  async function readinessReply(trusted: boolean): Promise<Reply> {
    const reasons = await soon(readinessPatienceMs, notReady.read(), clock).catch((error: unknown) => [
      messageOf(error),
    ])
    const ready = reasons.length === 0
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
  ...['script', 'style', 'img', 'connect'].map((kind) => `${kind}-src 'self'`),
  ...['base-uri', 'form-action', 'frame-ancestors'].map((what) => `${what} 'none'`),
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

/** The query of a request is wrong. The message names the value. */
export class QueryError extends Error {}

const usualSize = 25
const mostSize = 100
const longestFilter = 200

/** Reads the view of that name. Unknown parameters are ignored. Rejects with QueryError. */
export async function readView(name: string, views: PageViews, all: URLSearchParams): Promise<unknown> {
  /** An empty parameter is none. */
  const given = (parameter: string) => [all.get(parameter) ?? ''].find((text) => text !== '')
  const refuse = (parameter: string, text: string, why: string) =>
    new QueryError(`${parameter} ${JSON.stringify(printable(text, 100))} ${why}`)

  function oneOf<Name extends string>(parameter: string, allowed: readonly Name[]): Name | undefined {
    const text = given(parameter)
    const found = allowed.find((each) => each === text)
    if (found !== undefined || text === undefined) return found
    throw refuse(parameter, text, `is none of ${allowed.join(', ')}`)
  }

  function wholeNumber(parameter: string, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = given(parameter)
    if (text === undefined) return undefined
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= 1 && value <= most) return value
    throw refuse(parameter, text, `is not a whole number from 1 to ${most}`)
  }

  function needed<Value>(value: Value | undefined, what: string): Value {
    if (value === undefined) throw new QueryError(`this view needs ${what}`)
    return value
  }

  const zone = () => needed(wholeNumber('zone'), 'zone (its id)')

  function dayQuery(): DayQuery {
    const sink = needed(given('sink'), 'sink and day (YYYY-MM-DD)')
    const day = needed(given('day'), 'sink and day (YYYY-MM-DD)')
    if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw refuse('day', day, 'is not YYYY-MM-DD')
    return { zone: zone(), sink, day }
  }

  const readers = {
    map: () =>
      views.map({
        filter: (given('filter') ?? '').slice(0, longestFilter),
        sink: given('sink'),
        state: oneOf('state', cellStates),
        sort: oneOf('sort', mapSorts) ?? 'state',
        page: wholeNumber('page', 1_000_000) ?? 1,
        size: wholeNumber('size', mostSize) ?? usualSize,
      }),
    day: () => views.day(dayQuery()),
    'dead-letters': () => views.deadLetters(dayQuery()),
    tail: () => views.tail({ zone: zone(), after: wholeNumber('after') ?? 0 }),
  }
  const known = Object.keys(readers) as (keyof typeof readers)[]
  const chosen = known.find((each) => each === name)
  if (chosen !== undefined) return readers[chosen]()
  throw refuse('view', name, `does not exist; use ${known.join(', ')}, or none for everything`)
}
