import { jsonAnswer, type Answer } from '../answer.ts'
import type { FaultContext, FaultOf } from './fault.ts'

interface LoosePage {
  readonly logs: readonly unknown[]
  readonly [field: string]: unknown
}

const strayEntries: readonly unknown[] = [
  42,
  null,
  'no entry at all',
  [],
  {},
  { logId: 7, timestamp: 'yesterday', log: 12, labels: ['Blocked'] },
  { logId: '__proto__', timestamp: -1, log: '{"Url":', labels: { status: null, ruleId: 930130 } },
  { timestamp: 1e300, log: null, labels: null },
]

/** Faults that change a successful page. */
export const pageFaults = {
  wrongTypes: (context, { fields }) =>
    changed(context, (page) => ({
      ...page,
      ...(fields ?? {
        logs: { first: page.logs[0] ?? null },
        hasMoreData: 'yes',
        continuationToken: 42,
        startToken: [],
        errorResponse: 'none',
      }),
    })),

  emptyPageWithMore: (context) =>
    changed(context, (page) => ({
      ...page,
      logs: [],
      hasMoreData: true,
      continuationToken: context.tokenAgain(),
    })),

  repeatToken: (context) =>
    changed(context, (page) => {
      const asked = context.route.segment ?? ''
      return { ...page, hasMoreData: true, continuationToken: asked === '' ? context.tokenAgain() : asked }
    }),

  cycleTokens: (context, { length = 3 }) =>
    changed(context, (page) => {
      const stream = streamOf(context)
      const tokens = context.memory.tokens.get(stream) ?? []
      const served = context.memory.pages.get(stream) ?? 0
      const hasNext = page.hasMoreData === true && typeof page.continuationToken === 'string'
      if (tokens.length < length) tokens.push(hasNext ? String(page.continuationToken) : context.tokenAgain())
      context.memory.tokens.set(stream, tokens)
      context.memory.pages.set(stream, served + 1)
      return { ...page, hasMoreData: true, continuationToken: tokens[served % length] }
    }),

  moreWithoutToken: (context) =>
    changed(context, (page) => ({ ...page, hasMoreData: true, continuationToken: null })),

  missingIds: (context, { every = 1 }) =>
    changed(context, (page) => ({
      ...page,
      logs: page.logs.map((entry, index) => (index % every === 0 ? withoutId(entry, index / every) : entry)),
    })),

  repeatedEntries: (context, { count = 3 }) =>
    changed(context, (page) => {
      const stream = streamOf(context)
      const before = context.memory.entries.get(stream) ?? []
      context.memory.entries.set(stream, page.logs.slice(-count))
      return { ...page, logs: [...before, ...page.logs, ...page.logs.slice(0, count)] }
    }),

  sharedIds: (context, { every = 1 }) =>
    changed(context, (page) => ({
      ...page,
      logs: page.logs.flatMap((entry, index) => (index % every === 0 ? [entry, otherOf(entry)] : [entry])),
    })),

  badEntries: (context, { entries = strayEntries }) =>
    changed(context, (page) => {
      const middle = Math.ceil(page.logs.length / 2)
      return { ...page, logs: [...page.logs.slice(0, middle), ...entries, ...page.logs.slice(middle)] }
    }),

  // Parsers differ here: most take the last value.
  duplicateKeys: (context) => {
    const { page, answer } = pageOf(context)
    if (page === undefined || answer.body === undefined) return answer
    const first = '{"logs":[],"hasMoreData":false,"continuationToken":"x","errorResponse":null,'
    return { ...answer, body: Buffer.concat([Buffer.from(first), answer.body.subarray(1)]) }
  },

  nonUtf8: (context) => {
    const mark = 'bytes that are no text'
    const answer = changed(context, (page) => {
      const [entry, ...rest] = page.logs
      const log = typeof entry === 'object' && entry !== null ? { ...entry, log: mark } : mark
      return { ...page, logs: [log, ...rest] }
    })
    const at = answer.body?.indexOf(mark) ?? -1
    if (answer.body === undefined || at < 0) return answer
    const body = Buffer.from(answer.body)
    body.set([0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80], at)
    return { ...answer, body }
  },
} satisfies { readonly [Kind in PageFaultKind]: FaultOf<Kind> }

type PageFaultKind =
  | 'wrongTypes'
  | 'emptyPageWithMore'
  | 'repeatToken'
  | 'cycleTokens'
  | 'moreWithoutToken'
  | 'missingIds'
  | 'repeatedEntries'
  | 'sharedIds'
  | 'badEntries'
  | 'duplicateKeys'
  | 'nonUtf8'

function changed(context: FaultContext, change: (page: LoosePage) => object): Answer {
  const { page, answer } = pageOf(context)
  return page === undefined ? answer : jsonAnswer(200, change(page))
}

function pageOf(context: FaultContext): { readonly answer: Answer; readonly page?: LoosePage } {
  const answer = context.regular()
  if (context.route.operation !== 'eventLogs' || answer.status !== 200) return { answer }
  return { answer, page: JSON.parse(answer.body?.toString('utf8') ?? '') as LoosePage }
}

function streamOf({ route }: FaultContext): string {
  return `${route.zone}/${route.day}`
}

/** What a second rule says of the same request; the same each time that it is asked. */
function otherOf(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null) return entry
  const { labels } = entry as { readonly labels?: object }
  return { ...entry, labels: { ...labels, ruleId: '999001' } }
}

function withoutId(entry: unknown, turn: number): unknown {
  if (typeof entry !== 'object' || entry === null) return entry
  const { logId: _, ...rest } = entry as { readonly logId?: unknown }
  if (turn % 3 === 0) return rest
  return { ...rest, logId: turn % 3 === 1 ? '' : null }
}
