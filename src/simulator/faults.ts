import { once } from 'node:events'
import {
  failed,
  flushed,
  httpDate,
  jsonAnswer,
  problem,
  textAnswer,
  writeHead,
  type Answer,
  type Send,
} from './answer.ts'
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

interface Pending {
  readonly rule: FaultRule
  left: number
  met: number
}

/**
 * Fault rules in the order they were added: the first one that applies to a request answers it. For one that changes the
 * regular answer, that is the answer of the rules after it.
 */
export class FaultRules {
  #rules: readonly Pending[] = []

  add(rule: FaultRule): void {
    this.#rules = [...this.#rules, { rule, left: rule.times ?? 1, met: 0 }]
  }

  clear(): void {
    this.#rules = []
  }

  /** Undefined where no rule applies. */
  answer(context: FaultContext): { readonly kind: string; readonly answer: Answer } | undefined {
    return this.#answer(this.#rules, context)
  }

  #answer(rules: readonly Pending[], context: FaultContext): ReturnType<FaultRules['answer']> {
    for (const [index, pending] of rules.entries()) {
      const { match = {}, every = 1, fault } = pending.rule
      const asked = { ...context.route, firstPage: (context.route.token ?? '') === '' }
      if (Object.entries(match).some(([name, value]) => asked[name as keyof typeof match] !== value)) continue
      if (++pending.met % every !== 0) continue
      const regular = () => this.#answer(rules.slice(index + 1), context)?.answer ?? context.regular()
      const answer = fault.answer({ ...context, regular })
      if (answer === undefined) continue
      if (--pending.left <= 0) this.#rules = this.#rules.filter((other) => other !== pending)
      return { kind: fault.kind, answer }
    }
    return undefined
  }
}

function fault(kind: string, answer: Fault['answer']): Fault {
  return { kind, answer }
}

interface Status {
  readonly status: number
  /** Default: none, and no content type. */
  readonly body?: string
}

export function status({ status, body }: Status): Fault {
  return fault('status', () =>
    textAnswer(status, body, body === undefined ? undefined : 'text/html; charset=utf-8'),
  )
}

interface Throttle {
  readonly status?: number
  /** Seconds, any text, or a date so many ms ahead; default: no header. */
  readonly retryAfter?: number | string | { readonly inMs: number }
}

export function throttle({ status = 429, retryAfter }: Throttle = {}): Fault {
  return fault('throttle', ({ route, nowMs }) => {
    const answer = problem(status, 'Too many requests.', route)
    if (retryAfter === undefined) return answer
    const value = typeof retryAfter === 'object' ? httpDate(nowMs + retryAfter.inMs) : String(retryAfter)
    return { ...answer, headers: { ...answer.headers, 'retry-after': value } }
  })
}

type Refusal = { readonly errorKey: string; readonly status?: number; readonly message?: string }

/** Default status 202. */
export function errorKey({ errorKey, status = 202, message = 'The request failed.' }: Refusal): Fault {
  return fault('errorKey', ({ route }) => failed(route, status, errorKey, message))
}

export function problemDetails({ status = 400, detail = 'The request failed.' }): Fault {
  return fault('problemDetails', ({ route }) => problem(status, detail, route))
}

/** Success with a body that is not JSON. */
export function notJson({ body = '<!doctype html><title>Sign in</title>' } = {}): Fault {
  return fault('notJson', () => textAnswer(200, body, 'application/json; charset=utf-8'))
}

/** Requests with a token. */
export function expiredToken(): Fault {
  return fault('expiredToken', ({ route }) =>
    (route.token ?? '') === '' ? undefined : problem(400, 'The continuation token has expired.', route),
  )
}

/** The `Date` header: shifted, or left out. */
export function date({ offsetMs }: { readonly offsetMs: number | null }): Fault {
  const dateAt = (nowMs: number) => (offsetMs === null ? null : httpDate(nowMs + offsetMs))
  return fault('date', ({ regular, nowMs }) => ({ ...regular(), date: dateAt(nowMs) }))
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
  return fault(kind, ({ regular }) => ({ ...regular(), ...(when === 'before' && { status: 0 }), send }))
}

/** The answer in small pieces. */
export function drip({ everyMs, chunkBytes = 64 }: { everyMs: number; chunkBytes?: number }): Fault {
  const send: Send = async (response, answer, { clock, signal }) => {
    const { body } = answer
    writeHead(response, answer)
    for (let start = 0; start < body.length; start += chunkBytes) {
      await flushed(response, body.subarray(start, start + chunkBytes))
      await clock.sleep(everyMs, signal)
    }
    response.end()
  }
  return fault('drip', ({ regular }) => ({ ...regular(), send }))
}

/** Without end, in each n-th request. */
function often(every: number, fault: Fault, operation: Operation = 'eventLogs'): FaultRule {
  return { match: { operation }, every, times: Number.POSITIVE_INFINITY, fault }
}

const noRules = errorKey({
  errorKey: 'invalid_plan_type.rate_limit',
  message: 'The plan has no more rate limit rules.',
})

/** Named faults, to rehearse with. Under those of event logs every entry stays readable. */
export const scenarios: { readonly [name: string]: readonly FaultRule[] } = {
  throttled: [often(5, throttle({ retryAfter: 2 }))],
  'server-error': [often(7, status({ status: 500 }))],
  gateway: [
    often(7, status({ status: 502, body: '<html><h1>502 Bad Gateway</h1></html>' })),
    often(11, status({ status: 503 })),
  ],
  reset: [often(7, reset()), often(11, reset({ when: 'mid' }))],
  slow: [often(3, drip({ everyMs: 5, chunkBytes: 16_384 }))],
  hang: [often(13, hang())],
  'not-json': [often(7, notJson())],
  'expired-tokens': [often(5, expiredToken())],
  'refused-key': [often(9, problemDetails({ status: 401 }))],
  'wrong-clock': [often(5, date({ offsetMs: 3_600_000 }))],
  'refused-updates': [often(1, noRules, 'updateRateLimit')],
  'lost-updates': [often(1, reset({ when: 'mid' }), 'updateRateLimit')],
  'no-figures': [
    often(
      1,
      fault('status', () => jsonAnswer(503, { statusCode: 503 })),
      'uploadScanning',
    ),
    often(1, problemDetails({ status: 503, detail: 'Volumes are being moved.' }), 'volumes'),
  ],
}
