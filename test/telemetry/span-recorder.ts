import {
  context,
  propagation,
  SpanStatusCode,
  trace,
  type Attributes,
  type SpanKind,
} from '@opentelemetry/api'
import { NodeTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-node'

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
  /** ms since the epoch. */
  readonly startTime: number
  readonly attributes: Attributes
  readonly status: number | undefined
}

/** An SDK that hands over each span as it ends. */
export function registerRecorder(ended: (span: RecordedSpan) => void): void {
  const nothing = () => Promise.resolve()
  const onEnd = (span: ReadableSpan) => ended(recorded(span))
  const processor = { onStart: () => undefined, onEnd, shutdown: nothing, forceFlush: nothing }
  new NodeTracerProvider({ spanProcessors: [processor] }).register()
}

/** Takes it away again. */
export function unregisterRecorder(): void {
  trace.disable()
  context.disable()
  propagation.disable()
}

function recorded(span: ReadableSpan): RecordedSpan {
  const { instrumentationScope, kind, name, parentSpanContext, startTime, attributes, status } = span
  const { traceId, spanId } = span.spanContext()
  return {
    scope: instrumentationScope.name,
    version: instrumentationScope.version,
    kind,
    name,
    traceId,
    spanId,
    parentId: parentSpanContext?.spanId,
    isParentRemote: parentSpanContext?.isRemote === true,
    startTime: startTime[0] * 1000 + startTime[1] / 1e6,
    attributes,
    status: status.code === SpanStatusCode.UNSET ? undefined : status.code,
  }
}
