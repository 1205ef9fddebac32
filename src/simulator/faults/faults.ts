import { UTCDateMini } from '@date-fns/utc/date/mini'
import {
  emptyAnswer,
  jsonAnswer,
  problem,
  textAnswer,
  validationProblem,
  type Answer,
  type Send,
} from '../answer.ts'
import { failedMetrics } from '../api/upload-scanning.ts'
import { failedPage } from '../api/event-logs.ts'
import { failedZoneList } from '../api/shield-zones.ts'
import { failedUpdate } from '../api/rate-limit.ts'
import { pageFaults } from './page-faults.ts'
import * as sending from '../sending.ts'
import type { Fault, FaultContext, FaultKind, FaultOf } from './fault.ts'
import type { Operation, Route } from '../route.ts'

/** A time as the `Date` header has it. */
export function httpDate(atMs: number): string {
  return new UTCDateMini(atMs).toUTCString()
}

/** The answer that replaces the regular one. */
export function faultyAnswer(context: FaultContext, fault: Fault): Answer {
  // The map has an entry per kind; the compiler cannot follow a union through it.
  const answerOf = faults[fault.kind] as (context: FaultContext, fault: Fault) => Answer
  return answerOf(context, fault)
}

const faults: { readonly [Kind in FaultKind]: FaultOf<Kind> } = {
  status: (_, { status, body, contentType = 'text/html; charset=utf-8', headers = {} }) => {
    if (body === undefined) return emptyAnswer(status, headers)
    const answer = textAnswer(status, body, contentType)
    return { ...answer, headers: { ...answer.headers, ...headers } }
  },

  throttle: ({ route, nowMs }, { status = 429, retryAfter }) => {
    const answer = problem(status, 'Too many requests.', route)
    if (retryAfter === undefined) return answer
    const value = typeof retryAfter === 'object' ? httpDate(nowMs + retryAfter.inMs) : String(retryAfter)
    return { ...answer, headers: { ...answer.headers, 'retry-after': value } }
  },

  errorKey: ({ route }, { errorKey, status = 202, message = 'The request failed.' }) =>
    envelopes[route.operation](status, errorKey, message, route),

  problemDetails: ({ route }, { status, detail = 'The request failed.' }) => problem(status, detail, route),

  validationProblem: ({ route }, { status = 400, errors = [{ field: 'appId', message: 'is not valid' }] }) =>
    validationProblem(status, errors, route),
  statusCode: (_, { status }) => jsonAnswer(status, { statusCode: status }),

  redirect: (_, { status = 302, location = '/elsewhere' }) => emptyAnswer(status, { location }),

  expiredToken: (context) =>
    (context.route.segment ?? '') === ''
      ? context.regular()
      : problem(400, 'The continuation token has expired.', context.route),

  acceptedResult: () =>
    jsonAnswer(202, {
      location: null,
      value: null,
      formatters: [],
      contentTypes: [],
      declaredType: null,
      statusCode: 202,
    }),

  repeatCursor: (context) => {
    const answer = context.regular()
    if (answer.status !== 200 || answer.body === undefined) return answer
    const list = JSON.parse(answer.body.toString('utf8')) as { cursor: string | null }
    return jsonAnswer(200, { ...list, cursor: context.route.query.get('nextCursor') ?? list.cursor })
  },

  delay: (context, { ms }) => ({ ...context.regular(), send: sending.sendDelayed(ms) }),
  reset: (context, { when = 'before' }) => sentPartly(when, context, sending.sendThenReset(when)),
  cut: (context, { missingBytes = 10 }) => ({ ...context.regular(), send: sending.sendCut(missingBytes) }),
  drip: (context, { everyMs, chunkBytes = 64 }) => ({
    ...context.regular(),
    send: sending.sendDripping(everyMs, chunkBytes),
  }),
  hang: (context, { when = 'before' }) => sentPartly(when, context, sending.sendThenHang(when)),
  oversized: (context, { bytes, declared = false }) => ({
    ...context.regular(),
    send: sending.sendOversized(bytes, declared),
  }),
  bomb: (context, { bytes, encoding = 'gzip' }) => ({
    ...context.regular(),
    send: sending.sendBomb(bytes, encoding),
  }),
  encode: (context, { encoding, label }) => sending.encoded(context.regular(), encoding, label),

  date: (context, { offsetMs }) => ({
    ...context.regular(),
    date: offsetMs === null ? null : httpDate(context.nowMs + offsetMs),
  }),

  notJson: (_, { body = '<!doctype html><title>Sign in</title>' }) =>
    textAnswer(200, body, 'application/json; charset=utf-8'),

  ...pageFaults,
}

// With `before` the service did its work, but the client receives no status.
function sentPartly(when: 'before' | 'mid', context: FaultContext, send: Send): Answer {
  const answer = context.regular()
  return when === 'mid' ? { ...answer, send } : { ...answer, status: 0, send }
}

type Envelope = (status: number, errorKey: string, message: string, route: Route) => Answer

const envelopes = {
  eventLogs: failedPage,
  updateRateLimit: (status, errorKey, message) => failedUpdate(status, errorKey, message),
  uploadScanning: failedMetrics,
  volumes: (status, errorKey, message, route) => problem(status, `${errorKey}: ${message}`, route),
  shieldZones: failedZoneList,
  unknown: (status, errorKey, message, route) => problem(status, `${errorKey}: ${message}`, route),
} satisfies Record<Operation, Envelope>
