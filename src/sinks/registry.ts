import type { Writable } from 'node:stream'
import type { AnySink, Format } from '../ports/delivery.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { FileSinkSettings } from './file/config.ts'
import { createFileSink } from './file/sink.ts'
import type { HttpSinkConfig } from './http/config.ts'
import { createHttpSink } from './http/sink.ts'
import { measured } from './measured.ts'
import type { StdoutSinkConfig } from './stdout/config.ts'
import { createStdoutSink } from './stdout/sink.ts'
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

/** Every kind of sink by its `type` in the configuration. */
export const sinks = {
  stdout: (options: Pick<StdoutSinkConfig, 'type' | 'name'>, deps: SinkDeps) =>
    measured(createStdoutSink(options, deps), deps),
  file: (options: { readonly type: 'file' } & FileSinkSettings, deps: SinkDeps) =>
    measured(createFileSink(options, deps), deps),
  http: (options: HttpSinkConfig, deps: SinkDeps) => createHttpSink(options, deps),
  syslog: (options: { readonly type: 'syslog' } & SyslogSinkOptions, deps: SinkDeps) =>
    measured(createSyslogSink(options, deps), deps),
}

export type SinkOptions = Parameters<(typeof sinks)[keyof typeof sinks]>[0]

/** Creates a sink. Throws an error that names the sink and the field when the options cannot be used. */
export function createSink(options: SinkOptions, deps: SinkDeps): AnySink {
  // The options are those of this very type.
  const create = sinks[options.type] as (options: SinkOptions, deps: SinkDeps) => AnySink
  return create(options, deps)
}
