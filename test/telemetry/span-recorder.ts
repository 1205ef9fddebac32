import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import {
  context,
  INVALID_SPAN_CONTEXT,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type ContextManager,
  type Span,
  type SpanContext,
  type SpanOptions,
  type TextMapPropagator,
  type Tracer,
} from '@opentelemetry/api'

/** A span as it ended. */
export interface RecordedSpan {
  readonly scope: string
  readonly version: string | undefined
  readonly kind: SpanKind
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly isParentRemote: boolean
  readonly startTime: SpanOptions['startTime']
  readonly attributes: Attributes
  readonly status: number | undefined
}

/** Stands where an SDK would: makes spans, keeps them over `await`, and carries them in the W3C header. */
export function registerRecorder(ended: (span: RecordedSpan) => void): void {
  trace.setGlobalTracerProvider({ getTracer: (scope, version) => tracerOf(scope, version, ended) })
  context.setGlobalContextManager(contextManager())
  propagation.setGlobalPropagator(traceparent)
}

/** Takes it away again. */
export function unregisterRecorder(): void {
  trace.disable()
  context.disable()
  propagation.disable()
}

function tracerOf(scope: string, version: string | undefined, ended: (span: RecordedSpan) => void): Tracer {
  const startSpan: Tracer['startSpan'] = (name, options = {}, from = context.active()) => {
    const parent = options.root === true ? undefined : trace.getSpanContext(from)
    const spanContext: SpanContext = {
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      traceFlags: TraceFlags.SAMPLED,
    }
    const attributes: Attributes = { ...options.attributes }
    let status: number | undefined
    let isEnded = false
    const span = {
      spanContext: () => spanContext,
      isRecording: () => !isEnded,
      setAttribute: (key: string, value: string) => {
        if (isEnded) throw new Error(`${name} has ended`)
        attributes[key] = value
        return span
      },
      setAttributes: (more: Attributes) => {
        if (isEnded) throw new Error(`${name} has ended`)
        Object.assign(attributes, more)
        return span
      },
      setStatus: ({ code }: { code: number }) => {
        status = code
        return span
      },
      end: () => {
        if (isEnded) throw new Error(`${name} ended twice`)
        isEnded = true
        const { traceId, spanId } = spanContext
        const isParentRemote = parent?.isRemote === true
        const { startTime } = options
        ended({
          scope,
          version,
          kind: options.kind ?? SpanKind.INTERNAL,
          name,
          traceId,
          spanId,
          parentId: parent?.spanId,
          isParentRemote,
          startTime,
          attributes,
          status,
        })
      },
    }
    return span as unknown as Span
  }
  return {
    startSpan,
    startActiveSpan: () => {
      throw new Error('not used here')
    },
  }
}

function contextManager(): ContextManager {
  const store = new AsyncLocalStorage<Context>()
  const manager: ContextManager = {
    active: () => store.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...given) => store.run(active, () => work.apply(self, given)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  return manager
}

const traceparent: TextMapPropagator = {
  inject(from, carrier, setter) {
    const { traceId, spanId } = trace.getSpanContext(from) ?? INVALID_SPAN_CONTEXT
    if (trace.getSpan(from) !== undefined) setter.set(carrier, 'traceparent', `00-${traceId}-${spanId}-01`)
  },
  extract(into, carrier, getter) {
    const header = String(getter.get(carrier, 'traceparent'))
    const [, traceId, spanId] = /^00-([\da-f]{32})-([\da-f]{16})-01$/.exec(header) ?? []
    if (traceId === undefined || spanId === undefined) return into
    return trace.setSpanContext(into, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
  },
  fields: () => ['traceparent'],
}
