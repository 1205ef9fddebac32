import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api'
import { NodeTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-node'

export type RecordedSpan = ReturnType<typeof recorded>

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

/** A span as it ended; times in ms since the epoch. */
function recorded(span: ReadableSpan) {
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
