import { isFailure, messageOf } from '../../domain/failure.ts'
import type { Report } from '../conditions.ts'
import type { Fields } from '../logger.ts'
import { countPhrase, reasonPhrases } from '../phrases.ts'
import type { Definitions } from './definition.ts'

/** The process and its work outside a stream's checkpoint; a stack in a line means a bug. */
export const processInternalEvents: Definitions<
  | 'Started'
  | 'Stopping'
  | 'Stopped'
  | 'ServerListening'
  | 'ConfigReloaded'
  | 'ConfigRefused'
  | 'Warned'
  | 'TickFailed'
  | 'PumpFailed'
  | 'UpkeepFailed'
  | 'QueueFailed'
  | 'QueueRecovered'
> = {
  Started: {
    level: 'info',
    meaning: 'The process has started.',
    line: ({ version, zones, sinks, state }) =>
      `shieldlog ${version} ships ${countPhrase(zones, 'zone')} to ${sinks.join(', ')}; state in ${state}`,
  },
  Stopping: {
    level: 'info',
    meaning:
      'A signal asked the process to stop. It finishes the deliveries in progress; a second signal ends it at once.',
    line: ({ signal }) => `stopping (${signal})`,
  },
  Stopped: {
    level: 'info',
    meaning: 'The process has stopped and closed everything. This is its last line.',
    line: () => 'stopped',
  },
  ServerListening: {
    level: 'info',
    meaning: 'Metrics, health and status are served at this address.',
    line: ({ address }) => `serving metrics, health and status at ${address}`,
  },
  ConfigReloaded: {
    level: 'warn',
    meaning: 'The new configuration is in force. Level warn: a change needs a restart.',
    count(_, metrics) {
      metrics.count('config_reloads_total', { result: 'taken' })
    },
    ends(_, conditions, about) {
      conditions.retain(about.isConfigured)
    },
    line({ changed, needsRestart }) {
      const what = changed.length === 0 ? 'nothing changed' : `changed: ${changed.join(', ')}`
      const waits = needsRestart.length === 0 ? '' : `; needs a restart: ${needsRestart.join(', ')}`
      const level = needsRestart.length === 0 ? 'info' : 'warn'
      return { level, message: `read the configuration again; ${what}${waits}` }
    },
  },
  ConfigRefused: {
    level: 'error',
    meaning: 'The new configuration has errors, which the line lists. The old one stays in force.',
    count(_, metrics) {
      metrics.count('config_reloads_total', { result: 'refused' })
    },
    line: ({ errors }) =>
      `the new configuration has ${countPhrase(errors.length, 'error')}, the old one stays in force: ${errors.join('; ')}`,
  },
  Warned: {
    level: 'warn',
    meaning: 'A warning without a more specific event; `about` names the part of shieldlog.',
    report: ({ about, text }) => ({
      group: `${about} ${text}`,
      message: `${about}: ${text}`,
      about: `${about}: ${text}`,
      fields: { about },
      details: {},
    }),
  },
  TickFailed: {
    level: 'error',
    meaning:
      'The scheduler could not read which streams are due. It tries again after a second. A line with a stack is a bug: please report it.',
    count(_, metrics) {
      metrics.count('tick_failures_total', {})
    },
    report: ({ error }) => ofError(error, 'cannot look for streams that are due'),
  },
  PumpFailed: {
    level: 'error',
    meaning:
      'Work on a stream failed, and the store could not record the failure. The stream is tried again after a few seconds. A line with a stack is a bug: please report it.',
    report: ({ stream, error }, about) => ({
      ...ofError(error, about.stream(stream)),
      zone: stream.zone,
      sink: stream.sink,
      about: `failed work on streams: ${reasonOf(error)}`,
      details: { ...stream, ...stackOf(error) },
    }),
  },
  UpkeepFailed: {
    level: 'error',
    meaning:
      'A background task (heartbeat, housekeeping, reconciliation of the files with their committed lengths, figures for metrics, discovery of zones) failed. It is tried again. A line with a stack is a bug: please report it.',
    report: ({ task, error }) => ({
      ...ofError(error, `${task} failed`),
      group: `${task} ${codeOf(error)}`,
      fields: { task, code: codeOf(error) },
    }),
  },
  QueueFailed: {
    level: 'error',
    meaning:
      'The queue in Redis failed, mostly its connection, which is then opened again. Streams continue from their checkpoints when Redis answers. A line with a stack is a bug: please report it.',
    // A bug has no end.
    report: ({ error }) => ({ ...ofError(error, 'the queue stands still'), hasEnd: isFailure(error) }),
  },
  QueueRecovered: {
    level: 'info',
    meaning:
      'Redis answers again, and the queue has had no error for ten seconds: a line reports the end of each QueueFailed.',
    ends(_, conditions) {
      conditions.leave('QueueFailed')
    },
  },
}

/** Reports of one code are one condition. */
function ofError(error: unknown, what: string): Report {
  const code = codeOf(error)
  return {
    group: code,
    message: `${what}: ${isFailure(error) ? '' : 'a bug: '}${messageOf(error)}`,
    about: `${what}: ${reasonOf(error)}`,
    fields: { code },
    details: stackOf(error),
  }
}

function codeOf(error: unknown): string {
  return isFailure(error) ? error.code : 'bug'
}

function reasonOf(error: unknown): string {
  return isFailure(error) ? reasonPhrases[error.code] : 'a bug'
}

/** The stack of a bug; one string a line, so that no part of it can look like a log line. */
function stackOf(error: unknown): Fields {
  if (!(error instanceof Error) || isFailure(error) || error.stack === undefined) return {}
  const lines = error.stack.split('\n').slice(1, 9)
  return { stack: lines.map((line) => line.trim()) }
}
