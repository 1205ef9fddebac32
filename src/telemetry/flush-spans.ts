import { trace } from '@opentelemetry/api'
import { within } from '../domain/within.ts'
import type { Clock } from '../ports/clock.ts'

/**
 * Has an SDK that was loaded into the process send the spans that it still keeps, at the end of a process: most send
 * every few seconds only. Returns after `longestMs` at the latest, and never throws, whatever becomes of them.
 */
export async function flushSpans(longestMs: number, clock: Clock): Promise<void> {
  const flushing = askForFlush()
  if (flushing === undefined) return
  await within(longestMs, flushing, clock).catch(() => undefined)
}

/** The API itself knows no flush; providers of SDKs have one. Undefined where nobody records. */
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
