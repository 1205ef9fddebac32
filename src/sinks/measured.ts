import type { Delivery } from '../domain/event/delivery.ts'
import { type FailureCode, isFailure } from '../domain/failure.ts'
import type { RequestOutcome } from '../domain/internal-event.ts'
import type { AnySink, OpenStream } from '../ports/delivery.ts'
import type { Clock, Telemetry } from '../ports/process.ts'

/** Failures of the sink itself. A lost fence, a stop or a failing store is not one. */
const outcomes: Partial<Record<FailureCode, RequestOutcome>> = {
  sink_gone: 'network',
  network: 'network',
  tls: 'network',
  timeout: 'timeout',
  disk_full: 'server_error',
  unwritable: 'rejected',
}

/**
 * Wraps a sink that writes without HTTP requests: telemetry counts each delivery as one request, and each failed open.
 * The HTTP sink reports each of its requests itself.
 */
export function measured<Any extends AnySink>(
  sink: Any,
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry: Telemetry },
): Any {
  async function told<Result>(work: () => Promise<Result>, bytesOf: (result: Result) => number) {
    const startedMs = clock.monotonic()
    const tell = (outcome: RequestOutcome, bytes: number) => {
      const seconds = (clock.monotonic() - startedMs) / 1000
      telemetry.emit({ name: 'SinkAnswered', sink: sink.name, outcome, seconds, bytes })
    }
    try {
      const result = await work()
      const bytes = bytesOf(result)
      if (bytes > 0) tell('ok', bytes)
      return result
    } catch (error) {
      const outcome = isFailure(error) ? outcomes[error.code] : undefined
      if (outcome !== undefined) tell(outcome, 0)
      throw error
    }
  }

  async function toldOpen(opening: () => Promise<OpenStream>): Promise<OpenStream> {
    const open = await told(opening, () => 0)
    return {
      ...open,
      deliver: (events, signal) =>
        told(
          () => open.deliver(events, signal),
          ({ bytes }: Delivery) => bytes,
        ),
    }
  }

  if ('reconcile' in sink) return { ...sink, reconcile: (...args) => toldOpen(() => sink.reconcile(...args)) }
  return { ...sink, open: (...args) => toldOpen(() => sink.open(...args)) }
}
