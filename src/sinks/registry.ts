import type { Writable } from 'node:stream'
import type { Format, Sink, TransactionalSink } from '../ports/delivery.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { FileSinkSettings } from './file/settings.ts'
import { createFileSink } from './file/sink.ts'
import type { HttpSinkConfig } from './http/config.ts'
import { createHttpSink } from './http/sink.ts'
import { measured } from './measured.ts'
import { createStdoutSink, type StdoutSinkOptions } from './stdout/sink.ts'
import { createSyslogSink, type SyslogSinkOptions } from './syslog/sink.ts'

/** Dependencies of all sinks; each sink uses some of them. */
export interface SinkDeps {
  readonly format: Format
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** Version of shieldlog, for the User-Agent. */
  readonly version: string
  /** Where the stdout sink writes. */
  readonly output: Writable
}

interface OptionsByType {
  readonly stdout: StdoutSinkOptions
  readonly file: FileSinkSettings
  readonly http: HttpSinkConfig
  readonly syslog: SyslogSinkOptions
}

interface SinkByType {
  readonly stdout: Sink
  readonly file: TransactionalSink
  readonly http: Sink
  readonly syslog: Sink
}

export type SinkType = keyof OptionsByType
export type SinkOptions = { [T in SinkType]: { readonly type: T } & OptionsByType[T] }[SinkType]

/** Every kind of sink by its `type` in the configuration. */
export const sinks: {
  readonly [T in SinkType]: (options: OptionsByType[T], deps: SinkDeps) => SinkByType[T]
} = {
  stdout: (options, deps) => measured(createStdoutSink(options, deps), deps),
  file: (options, deps) => measured(createFileSink(options, deps), deps),
  http: createHttpSink,
  syslog: (options, deps) => measured(createSyslogSink(options, deps), deps),
}

/** Creates a sink. Throws an error that names the sink and the field when the options cannot be used. */
export function createSink<T extends SinkType>(
  options: { readonly type: T } & OptionsByType[T],
  deps: SinkDeps,
): SinkByType[T] {
  const type: T = options.type
  return sinks[type](options, deps)
}
