import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api'
import { isFailure, type FailureCode } from '../domain/failure.ts'
import { within } from '../domain/promises.ts'
import type { SpanFacts, SpanName, Clock, TickTracing, Tracer } from '../ports/process.ts'

const scope = 'shieldlog'

/** Marks the context of a job from a queue: its outermost span has the kind CONSUMER. */
const isFromQueue = createContextKey('shieldlog: from a queue')

function kindOf(name: SpanName): SpanKind {
  if (name === 'fetch' || name === 'deliver') return SpanKind.CLIENT
  const isOutermost = name === 'pump' && context.active().getValue(isFromQueue) === true
  return isOutermost ? SpanKind.CONSUMER : SpanKind.INTERNAL
}

/** Spans by the OpenTelemetry API, which does next to nothing unless an SDK was loaded into the process. */
export function createTracer(version: string): Tracer {
  const tracer = trace.getTracer(scope, version)
  return {
    span(name, facts, work) {
      const span = tryTo(() =>
        tracer.startSpan(name, { kind: kindOf(name), attributes: attributesOf(facts) }),
      )
      if (span === undefined) return work(() => undefined)
      return context.with(trace.setSpan(context.active(), span), () => settle(span, work))
    },
  }
}

async function settle<Result>(
  span: Span,
  work: (note: (facts: SpanFacts) => void) => Promise<Result>,
): Promise<Result> {
  let outcome: FailureCode | 'bug' | undefined
  let isStopped = false
  try {
    return await work(({ outcome: noted = outcome, ...more }) => {
      outcome = noted
      tryTo(() => span.setAttributes(attributesOf(more)))
    })
  } catch (error) {
    outcome = isFailure(error) ? error.code : 'bug'
    // A pump that was stopped on purpose, or that lost its stream to another pump, has no error.
    isStopped = isFailure(error) && error.kind === 'cancelled'
    throw error
  } finally {
    tryTo(() => {
      span.setAttribute('shieldlog.outcome', outcome ?? 'ok')
      if (outcome !== undefined && !isStopped)
        span.setAttribute('error.type', outcome).setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    })
  }
}

export function createTickTracing(clock: Clock, version: string): TickTracing {
  const tracer = trace.getTracer(scope, version)
  let beganAtMs: number | undefined
  let latest: Context = ROOT_CONTEXT

  function latestTick(kind: SpanKind): Context {
    if (beganAtMs === undefined) return latest
    const startTime = beganAtMs
    beganAtMs = undefined
    const span = tryTo(() => tracer.startSpan('tick', { kind, root: true, startTime }))
    latest = span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span)
    tryTo(() => span?.end())
    return latest
  }

  return {
    async tick(plan) {
      const atMs = clock.now()
      const planned = await plan()
      beganAtMs = atMs
      return planned
    },
    started: (work) => context.with(latestTick(SpanKind.INTERNAL), work),
    inject() {
      const carrier: Record<string, string> = {}
      tryTo(() => propagation.inject(latestTick(SpanKind.PRODUCER), carrier))
      return carrier
    },
    within(carrier, work) {
      const sender = tryTo(() => propagation.extract(ROOT_CONTEXT, carrier)) ?? ROOT_CONTEXT
      return context.with(sender.setValue(isFromQueue, true), work)
    },
  }
}

/** The OpenTelemetry API has no flush; the tracer providers of SDKs do. */
interface Provider {
  getDelegate?(): Provider
  forceFlush?(): unknown
}

/**
 * Makes a loaded OpenTelemetry SDK send its buffered spans at the end of a process: most SDKs send only every few
 * seconds. Takes `longestMs` at most and never throws, even if the SDK fails.
 */
export async function flushSpans(longestMs: number, clock: Clock): Promise<void> {
  try {
    const proxy = trace.getTracerProvider() as Provider
    const provider = proxy.getDelegate?.() ?? proxy
    await within(longestMs, Promise.resolve(provider.forceFlush?.()), clock)
  } catch {
    // Spans are lost then, and nothing else.
  }
}

/** All that an attribute may hold besides a server. */
const told = ['zone', 'day', 'sink', 'priority', 'events', 'outcome'] as const

/** Names of OpenTelemetry's conventions where they exist, otherwise names with shieldlog's prefix. */
function attributesOf(facts: SpanFacts): Attributes {
  const attributes = serverAttributes(facts.server)
  for (const fact of told) if (facts[fact] !== undefined) attributes[`shieldlog.${fact}`] = facts[fact]
  return attributes
}

/** Empty for an address that is no URL, such as the path of a file sink. */
function serverAttributes(address = ''): Attributes {
  const { hostname, port, protocol } = URL.parse(address) ?? { hostname: '', port: '', protocol: '' }
  if (hostname === '') return {}
  const usual = protocol === 'https:' ? 443 : 80
  return { 'server.address': hostname, 'server.port': port === '' ? usual : Number(port) }
}

/** A failing SDK must not fail the traced work; its errors are ignored here. */
function tryTo<Result>(step: () => Result): Result | undefined {
  try {
    return step()
  } catch {
    return undefined
  }
}
