import type { InternalEvent } from '../../src/domain/internal-event.ts'
import type { Telemetry } from '../../src/ports/process.ts'

/** Telemetry that keeps what it is told. */
export function keepInternalEvents(): { telemetry: Telemetry; internalEvents: InternalEvent[] } {
  const internalEvents: InternalEvent[] = []
  return { telemetry: { emit: (internalEvent) => internalEvents.push(internalEvent) }, internalEvents }
}

export function named<N extends InternalEvent['name']>(
  internalEvents: readonly InternalEvent[],
  name: N,
): Extract<InternalEvent, { name: N }>[] {
  return internalEvents.filter((one): one is Extract<InternalEvent, { name: N }> => one.name === name)
}
