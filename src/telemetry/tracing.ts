import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
} from '@opentelemetry/api'
import { isFailure, type FailureCode } from '../domain/failure.ts'
import type { Clock, SpanFacts, Tracer } from '../ports.ts'

const scope = 'shieldlog'

/** Spans through the OpenTelemetry API, which do next to nothing unless an SDK was loaded into the process. */
export function createTracer(): Tracer {
  const tracer = trace.getTracer(scope)
  return {
    span(name, facts, work) {
      const span = tryTo(() => tracer.startSpan(name, { attributes: { ...facts } }))
      if (span === undefined) return work(ignore)
      return context.with(trace.setSpan(context.active(), span), () => settle(span, work))
    },
  }
}

const ignore = (): void => undefined

async function settle<Result>(
  span: Span,
  work: (note: (facts: SpanFacts) => void) => Promise<Result>,
): Promise<Result> {
  let outcome: FailureCode | undefined
  const note = ({ outcome: noted, ...more }: SpanFacts): void => {
    outcome = noted ?? outcome
    tryTo(() => span.setAttributes(more))
  }
  try {
    const result = await work(note)
    end(span, outcome ?? 'ok', outcome !== undefined)
    return result
  } catch (error) {
    // What was stopped on purpose, or taken over by another pump, is no fault.
    if (isFailure(error)) end(span, error.code, error.kind !== 'cancelled')
    else end(span, 'bug', true)
    throw error
  }
}

function end(span: Span, outcome: FailureCode | 'ok' | 'bug', isFault: boolean): void {
  tryTo(() => {
    span.setAttribute('outcome', outcome)
    if (isFault) span.setAttribute('error.type', outcome).setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  })
}

/** Names of trace headers and their values. */
export type TraceCarrier = Readonly<Record<string, string>>

/** Ties what a tick starts to the span of that tick, in this process or through a queue in another one. */
export interface TickTracing {
  /** Plans. The span begins with it, and only once something is started: most ticks start nothing. */
  tick<Result>(plan: () => Promise<Result>): Promise<Result>
  /** Runs work that the latest tick started as a part of its trace. */
  started<Result>(work: () => Promise<Result>): Promise<Result>
  /** What carries the latest tick's trace to another process; empty where nobody records. Never throws. */
  inject(): TraceCarrier
  /** Runs the work as a part of the trace that was carried here. */
  within<Result>(carrier: TraceCarrier, work: () => Promise<Result>): Promise<Result>
}

export function createTickTracing(clock: Clock): TickTracing {
  const tracer = trace.getTracer(scope)
  let beganAtMs: number | undefined
  let latest: Context = ROOT_CONTEXT

  function latestTick(): Context {
    if (beganAtMs === undefined) return latest
    const startTime = beganAtMs
    beganAtMs = undefined
    const span = tryTo(() => tracer.startSpan('tick', { root: true, startTime }))
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
    started: (work) => context.with(latestTick(), work),
    inject() {
      const carrier: Record<string, string> = {}
      tryTo(() => propagation.inject(latestTick(), carrier))
      return carrier
    },
    within(carrier, work) {
      return context.with(tryTo(() => propagation.extract(ROOT_CONTEXT, carrier)) ?? ROOT_CONTEXT, work)
    },
  }
}

/** A recorder that fails must not fail what it records; telling it is its own business. */
function tryTo<Result>(step: () => Result): Result | undefined {
  try {
    return step()
  } catch {
    return undefined
  }
}
