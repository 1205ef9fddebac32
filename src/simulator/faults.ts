import { once } from 'node:events'
import {
  failed,
  flushed,
  httpDate,
  jsonAnswer,
  problem,
  textAnswer,
  tooMany,
  writeHead,
  type Answer,
  type Send,
} from './answer.ts'
import { exactJson } from '../domain/text/decode.ts'
import type { Json } from '../domain/text/json.ts'
import { hashOf } from './entries/hash.ts'
import type { Operation, Route } from './route.ts'

/** A way to answer that differs from the regular one. */
export interface Fault {
  readonly kind: string
  /** Undefined: it does not concern this request, and is not used up by it. */
  answer(context: FaultContext): Answer | undefined
}

export interface FaultContext {
  readonly route: Route
  /** The service's clock, ms since the epoch. */
  readonly nowMs: number
  /** The answer without the fault. */
  regular(): Answer
}

export interface FaultRule {
  /** Default: every request. */
  readonly match?: {
    readonly operation?: Operation
    readonly zone?: number
    /** `YYYY-MM-DD`. */
    readonly day?: string
    readonly firstPage?: boolean
  }
  /** How many requests get the fault; default 1, Infinity allowed. */
  readonly times?: number
  /** Only each n-th matching request gets it; default each. */
  readonly every?: number
  readonly fault: Fault
}

/**
 * Fault rules in the order they were added: the first one that applies to a request answers it. For one that changes the
 * regular answer, that is the answer of the rules after it.
 */
export class FaultRules {
  #rules: readonly { readonly rule: FaultRule; left: number; met: number }[] = []

  add(rule: FaultRule): void {
    this.#rules = [...this.#rules, { rule, left: rule.times ?? 1, met: 0 }]
  }

  clear(): void {
    this.#rules = []
  }

  /** Undefined where no rule applies. */
  answer(
    context: FaultContext,
    rules = this.#rules,
  ): { readonly kind: string; readonly answer: Answer } | undefined {
    for (const [index, pending] of rules.entries()) {
      const { match = {}, every = 1, fault } = pending.rule
      const asked = { ...context.route, firstPage: (context.route.token ?? '') === '' }
      if (Object.entries(match).some(([name, value]) => asked[name as keyof typeof match] !== value)) continue
      if (++pending.met % every !== 0) continue
      const regular = () => this.answer(context, rules.slice(index + 1))?.answer ?? context.regular()
      const answer = fault.answer({ ...context, regular })
      if (answer === undefined) continue
      if (--pending.left <= 0) this.#rules = this.#rules.filter((other) => other !== pending)
      return { kind: fault.kind, answer }
    }
    return undefined
  }
}

// The faults that people rehearse with; tests have more.

export function status({ status, body }: { readonly status: number; readonly body?: string }): Fault {
  const type = body === undefined ? undefined : 'text/html; charset=utf-8'
  return { kind: 'status', answer: () => textAnswer(status, body, type) }
}

export function problemDetails({ status = 400, detail = 'The request failed.' }): Fault {
  return { kind: 'problemDetails', answer: ({ route }) => problem(status, detail, route) }
}

type Refusal = { readonly errorKey: string; readonly status?: number; readonly message?: string }

export function errorKey({ errorKey, status = 202, message = 'The request failed.' }: Refusal): Fault {
  return { kind: 'errorKey', answer: ({ route }) => failed(route, status, errorKey, message) }
}

/** Success with a body that is not JSON. */
export function notJson({ body = '<!doctype html><title>Sign in</title>' } = {}): Fault {
  return { kind: 'notJson', answer: () => textAnswer(200, body, 'application/json; charset=utf-8') }
}

/** A page of which one entry has a raw control character and a bad escape in a text of its client. */
function badEscapes(): Fault {
  return {
    kind: 'badEscapes',
    answer: ({ regular }) => {
      const answer = regular()
      const body = answer.body.toString('utf8').replace(/Message\\":\\"/, '$&\u0001\\x41 ')
      return { ...answer, body: Buffer.from(body) }
    },
  }
}

const mostKept = 1_000

/** As from a cache that keeps each answer for so long, and heeds no request for a fresh one. */
export function cached({ seconds = 60 } = {}): Fault {
  const kept = new Map<string, { readonly answer: Answer; readonly madeAtMs: number }>()
  const answer = ({ route, nowMs, regular }: FaultContext): Answer => {
    const before = kept.get(route.path)
    const age = before === undefined ? Infinity : Math.floor((nowMs - before.madeAtMs) / 1000)
    if (before !== undefined && age >= 1 && age < seconds) {
      const told = { age: String(age), via: '1.1 simulated-cache', 'x-cache': 'HIT' }
      return {
        ...before.answer,
        headers: { ...before.answer.headers, ...told },
        date: httpDate(before.madeAtMs),
      }
    }
    const made = regular()
    kept.delete(route.path)
    if (made.status === 200) kept.set(route.path, { answer: made, madeAtMs: nowMs })
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
    return made
  }
  return { kind: 'cached', answer }
}

/** The first pages of a listing again and again, each under a token of its own. */
export function endlessTokens({ pages = 3 } = {}): Fault {
  const firstPages = new Map<string, object[]>()
  let tokens = 0
  const answer = ({ route, regular }: FaultContext): Answer | undefined => {
    if (route.operation !== 'eventLogs') return undefined
    const listing = `${route.zone} ${route.day}`
    const held = firstPages.get(listing) ?? []
    const again = /^again (\d+) /.exec(route.token ?? '')
    const withToken = (page: object, at: number) =>
      jsonAnswer(200, { ...page, hasMoreData: true, continuationToken: `again ${at} ${++tokens}` })
    if (again !== null) {
      const at = Number(again[1])
      return withToken(held[at % held.length]!, at + 1)
    }
    const made = regular()
    if (made.status !== 200) return made
    const page = JSON.parse(made.body.toString('utf8')) as { readonly hasMoreData: boolean }
    const list = (route.token ?? '') === '' ? [page] : [...held, page]
    firstPages.set(listing, list)
    return page.hasMoreData && list.length < pages ? made : withToken(page, 0)
  }
  return { kind: 'endlessTokens', answer }
}

/** Requests with a token. */
export function expiredToken(): Fault {
  const answer = ({ route }: FaultContext) =>
    (route.token ?? '') === '' ? undefined : problem(400, 'The continuation token has expired.', route)
  return { kind: 'expiredToken', answer }
}

/** Lists half of the entries, always the same ones, for two minutes of every four. */
export function shrunken(): Fault {
  const answer = ({ nowMs, regular }: FaultContext) => {
    if (Math.floor(nowMs / 120_000) % 2 === 0) return undefined
    const whole = regular()
    const { logs, ...rest } = (exactJson(whole.body.toString()) ?? {}) as { readonly logs?: Json }
    if (!Array.isArray(logs)) return whole
    const listed = logs.filter((entry) => hashOf(JSON.stringify(entry)) % 2 === 0)
    return jsonAnswer(200, { logs: listed, ...rest })
  }
  return { kind: 'shrunken', answer }
}

type When = { readonly when?: 'before' | 'mid' }

/** The connection is reset: before the answer, or after half of its body. */
export function reset({ when = 'before' }: When = {}): Fault {
  return sentPartly('reset', when, async (response) => {
    response.socket?.resetAndDestroy()
  })
}

/** The answer stops: before the headers, or after half of the body. */
export function hang({ when = 'before' }: When = {}): Fault {
  return sentPartly('hang', when, async (_response, _answer, { signal }) => {
    if (!signal.aborted) await once(signal, 'abort')
  })
}

function sentPartly(kind: string, when: 'before' | 'mid', then: Send): Fault {
  const send: Send = async (response, answer, tools) => {
    if (when === 'mid') {
      writeHead(response, answer)
      await flushed(response, answer.body.subarray(0, Math.ceil(answer.body.length / 2)))
    }
    await then(response, answer, tools)
  }
  // With `before` the service did its work, but the client receives no status.
  return { kind, answer: ({ regular }) => ({ ...regular(), ...(when === 'before' && { status: 0 }), send }) }
}

/** Without end, in each n-th request. */
function often(every: number, fault: Fault, operation: Operation = 'eventLogs'): FaultRule {
  return { match: { operation }, every, times: Number.POSITIVE_INFINITY, fault }
}

/** Named faults, to rehearse with. Under those of event logs every entry can be read, at times. */
export const scenarios: { readonly [name: string]: readonly FaultRule[] } = {
  throttled: [often(5, { kind: 'throttle', answer: ({ route }) => tooMany(route, '2') })],
  'server-error': [often(7, status({ status: 500 }))],
  reset: [often(7, reset()), often(11, reset({ when: 'mid' }))],
  hang: [often(13, hang())],
  'not-json': [often(7, notJson())],
  'expired-tokens': [often(5, expiredToken())],
  shrunken: [often(1, shrunken())],
  // Every page: what becomes of an entry must not depend on when it is read.
  'bad-escapes': [often(1, badEscapes())],
  blocked: [often(9, status({ status: 403, body: '<title>Blocked by the web filter</title>' }))],
  cached: [often(1, cached())],
  'endless-tokens': [often(1, endlessTokens())],
  'refused-key': [often(9, problemDetails({ status: 401 }))],
  'refused-updates': [often(1, errorKey({ errorKey: 'invalid_plan_type.rate_limit' }), 'updateRateLimit')],
  'no-figures': [
    often(1, { kind: 'status', answer: () => jsonAnswer(503, { statusCode: 503 }) }, 'uploadScanning'),
    often(1, problemDetails({ status: 503 }), 'volumes'),
  ],
}
