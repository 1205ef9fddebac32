import { trace } from '@opentelemetry/api'
import { within } from '../domain/promises.ts'
import type { Clock } from '../ports/process.ts'

/**
 * Makes a loaded OpenTelemetry SDK send its buffered spans at the end of a process: most SDKs send only every few
 * seconds. Takes `longestMs` at most and never throws, even if the SDK fails.
 */
export async function flushSpans(longestMs: number, clock: Clock): Promise<void> {
  const flushing = askForFlush()
  if (flushing === undefined) return
  await within(longestMs, flushing, clock).catch(() => undefined)
}

/** The OpenTelemetry API has no flush; the tracer providers of SDKs do. Undefined without an SDK. */
function askForFlush(): Promise<unknown> | undefined {
  try {
    const proxy: unknown = trace.getTracerProvider()
    const provider = hasMethod(proxy, 'getDelegate') ? proxy.getDelegate() : proxy
    return hasMethod(provider, 'forceFlush') ? Promise.resolve(provider.forceFlush()) : undefined
  } catch {
    return undefined
  }
}

function hasMethod<Name extends string>(value: unknown, name: Name): value is Record<Name, () => unknown> {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
}
