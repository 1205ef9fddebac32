import type { Answer } from '../answer.ts'
import type { Operation, Route } from '../route.ts'
import type { FieldFault } from '../wire.ts'

/** Faults of the service. Page faults change a successful page and do not affect other answers. */
export type Fault =
  // Another answer
  | {
      readonly kind: 'status'
      readonly status: number
      /** Default: none, not even a content type. */
      readonly body?: string
      readonly contentType?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'throttle'
      /** Default 429. */
      readonly status?: number
      /** Seconds, any text, a date so many ms ahead, or (left out) no header. */
      readonly retryAfter?: number | string | { readonly inMs: number }
    }
  /** The operation's own envelope with an error; ProblemDetails where it has none. Default status 202. */
  | {
      readonly kind: 'errorKey'
      readonly errorKey: string
      readonly status?: number
      readonly message?: string
    }
  | { readonly kind: 'problemDetails'; readonly status: number; readonly detail?: string }
  | { readonly kind: 'validationProblem'; readonly status?: number; readonly errors?: readonly FieldFault[] }
  /** A body that holds nothing but `statusCode`, with that status. */
  | { readonly kind: 'statusCode'; readonly status: number }
  | { readonly kind: 'redirect'; readonly status?: number; readonly location?: string }
  | { readonly kind: 'expiredToken' }
  /** 202 with the framework's AcceptedResult, as the rate-limit update may answer. */
  | { readonly kind: 'acceptedResult' }
  /** A page of volumes whose cursor is the one that asked for it. */
  | { readonly kind: 'repeatCursor' }
  // The same answer, sent badly
  | { readonly kind: 'delay'; readonly ms: number }
  /** The connection is reset: before the answer, or after half of its body. Default before. */
  | { readonly kind: 'reset'; readonly when?: 'before' | 'mid' }
  /** The connection closes normally, before content-length bytes were sent. */
  | { readonly kind: 'cut'; readonly missingBytes?: number }
  | { readonly kind: 'drip'; readonly everyMs: number; readonly chunkBytes?: number }
  /** The answer stops: before the headers, or after half of the body. Default before. */
  | { readonly kind: 'hang'; readonly when?: 'before' | 'mid' }
  /** The page with so many bytes of white space inside; `declared` sends its content-length. */
  | { readonly kind: 'oversized'; readonly bytes: number; readonly declared?: boolean }
  /** A small body that decodes to so many bytes, whether the request accepts the encoding or not. */
  | { readonly kind: 'bomb'; readonly bytes: number; readonly encoding?: Encoding }
  /** Encoded although the request does not accept it; `label` names another encoding than the body's. */
  | { readonly kind: 'encode'; readonly encoding: Encoding; readonly label?: string }
  /** The `Date` header: shifted, or left out. */
  | { readonly kind: 'date'; readonly offsetMs: number | null }
  // Bodies that are not a page
  | { readonly kind: 'notJson'; readonly body?: string }
  | { readonly kind: 'duplicateKeys' }
  | { readonly kind: 'nonUtf8' }
  // Faults of a page
  /** Replaces fields of the page; default: every field by one of a wrong type. */
  | { readonly kind: 'wrongTypes'; readonly fields?: Readonly<Record<string, unknown>> }
  | { readonly kind: 'emptyPageWithMore' }
  | { readonly kind: 'repeatToken' }
  /** After so many pages the tokens repeat without end. Default 3. */
  | { readonly kind: 'cycleTokens'; readonly length?: number }
  | { readonly kind: 'moreWithoutToken' }
  /** Every n-th entry has no id, an empty one or null; default every one. */
  | { readonly kind: 'missingIds'; readonly every?: number }
  /** The page ends with its own first entries and begins with the last ones of the page before. Default 3 each. */
  | { readonly kind: 'repeatedEntries'; readonly count?: number }
  /** After every n-th entry stands another one with its id and time, and other content; default every one. */
  | { readonly kind: 'sharedIds'; readonly every?: number }
  /** Default: a number, null, a text, a list, an empty object, an object with wrong fields. */
  | { readonly kind: 'badEntries'; readonly entries?: readonly unknown[] }

export type FaultKind = Fault['kind']
export type Encoding = 'gzip' | 'br' | 'zstd' | 'deflate'

export interface FaultMatch {
  readonly operation?: Operation
  readonly zone?: number
  /** `YYYY-MM-DD`. */
  readonly day?: string
  readonly firstPage?: boolean
}

export interface FaultRule {
  /** Default: every request. */
  readonly match?: FaultMatch
  /** How many requests get the fault; default 1, Infinity allowed. */
  readonly times?: number
  /** Only each n-th matching request gets it; default each. */
  readonly every?: number
  readonly fault: Fault
}

/** The memory of a rule between requests, by zone and day. */
export interface FaultMemory {
  readonly tokens: Map<string, string[]>
  readonly pages: Map<string, number>
  readonly entries: Map<string, readonly unknown[]>
}

export interface FaultContext {
  readonly route: Route
  /** The service's clock, ms since the epoch. */
  readonly nowMs: number
  readonly memory: FaultMemory
  /** The answer without the fault. */
  regular(): Answer
  /** A new token for the requested page. */
  tokenAgain(): string
}

/** Produces the answer of one kind of fault. */
export type FaultOf<Kind extends FaultKind> = (
  context: FaultContext,
  fault: Extract<Fault, { kind: Kind }>,
) => Answer
