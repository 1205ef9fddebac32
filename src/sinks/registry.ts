import type { Delivery } from '../domain/event/delivery.ts'
import { type FailureCode, isFailure } from '../domain/failure.ts'
import type { RequestOutcome } from '../domain/internal-event.ts'
import type { AnySink, OpenStream } from '../ports/delivery.ts'
import type { SinkDeps } from './deps.ts'
import { createFileSink } from './file/sink.ts'
import { createHttpSink } from './http/sink.ts'
import { createKafkaSink } from './kafka/sink.ts'
import { createStdoutSink } from './stdout/sink.ts'
import { objectSinks, writesObjects } from './stores.ts'
import { createSyslogSink } from './syslog/sink.ts'

/** Every kind of sink by its `type` in the configuration. */
export const sinks = {
  stdout: createStdoutSink,
  file: createFileSink,
  http: createHttpSink,
  syslog: createSyslogSink,
  kafka: createKafkaSink,
  ...objectSinks,
}

type Kind = keyof typeof sinks
type SinkOptions = {
  [Type in Kind]: { readonly type: Type } & Parameters<(typeof sinks)[Type]>[0]
}[Kind]

/** Creates a sink. Throws an error that names the sink and the field when the options cannot be used. */
export function createSink(options: SinkOptions, deps: SinkDeps): AnySink {
  // The options are those of this very type.
  const create = sinks[options.type] as (options: SinkOptions, deps: SinkDeps) => AnySink
  const sink = create(options, deps)
  // These two report each HTTP request themselves.
  return options.type === 'http' || writesObjects(options) ? sink : measured(sink, deps)
}

/** Failures of the sink itself. A lost fence, a stop or a failing store is not one. */
const outcomes: Partial<Record<FailureCode, RequestOutcome>> = {
  sink_gone: 'network',
  network: 'network',
  tls: 'network',
  timeout: 'timeout',
  server_error: 'server_error',
  rejected: 'rejected',
  sink_refuses: 'rejected',
  disk_full: 'server_error',
  unwritable: 'rejected',
}

/** Telemetry counts each delivery as one request, and each failed open. */
function measured(sink: AnySink, { clock, telemetry }: SinkDeps): AnySink {
  async function told<Result extends OpenStream | Delivery>(work: () => Promise<Result>): Promise<Result> {
    const startedMs = clock.monotonic()
    const tell = (outcome: RequestOutcome, bytes: number) => {
      const seconds = (clock.monotonic() - startedMs) / 1000
      telemetry.emit({ name: 'SinkAnswered', sink: sink.name, outcome, seconds, bytes })
    }
    try {
      const result = await work()
      if ('bytes' in result && result.bytes > 0) tell('ok', result.bytes)
      return result
    } catch (error) {
      const outcome = isFailure(error) ? outcomes[error.code] : undefined
      if (outcome !== undefined) tell(outcome, 0)
      throw error
    }
  }

  async function opened(opening: () => Promise<OpenStream>): Promise<OpenStream> {
    const open = await told(opening)
    return { ...open, deliver: (events, signal, goesOn) => told(() => open.deliver(events, signal, goesOn)) }
  }

  if ('reconcile' in sink) return { ...sink, reconcile: (...args) => opened(() => sink.reconcile(...args)) }
  return { ...sink, open: (...args) => opened(() => sink.open(...args)) }
}
