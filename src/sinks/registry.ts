import type { Delivery } from '../domain/event/delivery.ts'
import { type FailureCode, isFailure } from '../domain/failure.ts'
import type { RequestOutcome } from '../domain/internal-event.ts'
import type { AnySink, OpenStream } from '../ports/delivery.ts'
import type { SinkDeps } from './deps.ts'
import type { FileSinkSettings } from './file/config.ts'
import { createFileSink } from './file/sink.ts'
import type { HttpSinkConfig } from './http/config.ts'
import { createHttpSink } from './http/sink.ts'
import type { KafkaSinkConfig } from './kafka/config.ts'
import { createKafkaSink } from './kafka/sink.ts'
import type { S3SinkConfig } from './s3/config.ts'
import { createObjectSink } from './s3/sink.ts'
import { openBucket } from './s3/trial.ts'
import type { StdoutSinkConfig } from './stdout/config.ts'
import { createStdoutSink } from './stdout/sink.ts'
import { createSyslogSink, type SyslogSinkOptions } from './syslog/sink.ts'

/** Every kind of sink by its `type` in the configuration. */
export const sinks = {
  stdout: (options: Pick<StdoutSinkConfig, 'type' | 'name'>, deps: SinkDeps) =>
    measured(createStdoutSink(options, deps), deps),
  file: (options: { readonly type: 'file' } & FileSinkSettings, deps: SinkDeps) =>
    measured(createFileSink(options, deps), deps),
  http: (options: HttpSinkConfig, deps: SinkDeps) => createHttpSink(options, deps),
  syslog: (options: { readonly type: 'syslog' } & SyslogSinkOptions, deps: SinkDeps) =>
    measured(createSyslogSink(options, deps), deps),
  kafka: (options: KafkaSinkConfig, deps: SinkDeps) => measured(createKafkaSink(options, deps), deps),
  s3: (options: S3SinkConfig, deps: SinkDeps) => createObjectSink(options, deps, openBucket(options, deps)),
}

type SinkOptions = Parameters<(typeof sinks)[keyof typeof sinks]>[0]

/** Creates a sink. Throws an error that names the sink and the field when the options cannot be used. */
export function createSink(options: SinkOptions, deps: SinkDeps): AnySink {
  // The options are those of this very type.
  const create = sinks[options.type] as (options: SinkOptions, deps: SinkDeps) => AnySink
  return create(options, deps)
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

/**
 * Wraps a sink that writes without HTTP requests: telemetry counts each delivery as one request, and each failed open.
 * The sinks that send HTTP requests report each of them themselves.
 */
function measured<Any extends AnySink>(sink: Any, { clock, telemetry }: SinkDeps): Any {
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
