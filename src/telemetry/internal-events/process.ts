import { messageOf } from '../../domain/failure.ts'
import { requestOutcomes } from '../../domain/internal-event.ts'
import { counted } from '../../domain/text/counts.ts'
import type { SomeDefinitions } from './definition.ts'

/** The process and its work outside a stream's checkpoint; a stack in a line means a bug. */
export const processInternalEvents = {
  NoticeSent: {
    level: 'info',
    meaning: 'A place of `notify` was told of a problem, or of its end.',
    measure: ({ place }, metrics) => metrics.count('notifications_total', { name: place, outcome: 'ok' }, 1),
    ends: ['NoticeFailed'],
  },
  NoticeFailed: {
    level: 'error',
    meaning: 'A place of `notify` did not take a message. It is tried again every 30 s.',
    measure({ place, failure: { code } }, metrics) {
      const outcome = requestOutcomes.find((each) => each === code) ?? 'rejected'
      metrics.count('notifications_total', { name: place, outcome }, 1)
    },
    text: ({ failure }) => failure.message,
    condition: { by: ['place', 'code'], hasEnd: true },
  },
  HeartbeatFailed: {
    level: 'warn',
    meaning: 'The address of `heartbeat` could not be reached.',
    text: ({ failure }) => failure.message,
    condition: { by: ['code'], hasEnd: true },
  },
  HeartbeatSent: {
    level: 'debug',
    meaning: 'The address of `heartbeat` was reached.',
    ends: ['HeartbeatFailed'],
  },
  Started: {
    level: 'info',
    meaning: 'The process has started.',
    text: ({ version, zones, sinks, state }) =>
      `shieldlog ${version} ships ${counted(zones, 'zone')} to ${sinks.join(', ')}; state in ${state}`,
  },
  Stopping: {
    level: 'info',
    meaning:
      'A signal asked the process to stop. It finishes the deliveries in progress; a second signal ends it at once.',
    text: ({ signal }) => `stopping (${signal})`,
  },
  Stopped: {
    level: 'info',
    meaning: 'The process has stopped and closed everything. This is its last line.',
    text: () => 'stopped',
  },
  ServerListening: {
    level: 'info',
    meaning: 'Metrics, health and status are served at this address.',
    text: ({ address }) => `serving metrics, health and status at ${address}`,
  },
  ConfigReloaded: {
    level: 'warn',
    meaning:
      'The new configuration is in force. Level warn: a change needs a restart. Failures that last are reported anew.',
    counts: { config_reloads_total: 1 },
    labels: { result: 'taken' },
    // They may be of zones and sinks that are no longer configured.
    ends: ['StreamFailed', 'ScanGuarded', 'FiguresFailed', 'ZoneListingFailed'],
    levelOf: ({ needsRestart }) => (needsRestart.length === 0 ? 'info' : 'warn'),
    text({ changed, needsRestart }) {
      const what = changed.length === 0 ? 'nothing changed' : `changed: ${changed.join(', ')}`
      const waits = needsRestart.length === 0 ? '' : `; needs a restart: ${needsRestart.join(', ')}`
      return `read the configuration again; ${what}${waits}`
    },
  },
  ConfigRefused: {
    level: 'error',
    meaning: 'The new configuration has errors, which the line lists. The old one stays in force.',
    counts: { config_reloads_total: 1 },
    labels: { result: 'refused' },
    text: ({ errors }) =>
      `the new configuration has ${counted(errors.length, 'error')}, the old one stays in force: ${errors.join('; ')}`,
  },
  Warned: {
    level: 'warn',
    meaning: 'A warning without a more specific event; `about` names the part of shieldlog.',
    text: ({ about, text }) => `${about}: ${text}`,
    condition: { by: ['about', 'text'] },
  },
  TickFailed: {
    level: 'error',
    meaning:
      'The scheduler could not read which streams are due. It tries again after a second. A line with a stack is a bug: please report it.',
    counts: { tick_failures_total: 1 },
    text: ({ error }) => `cannot look for streams that are due: ${messageOf(error)}`,
    condition: { by: ['code'] },
  },
  PumpFailed: {
    level: 'error',
    meaning:
      'Work on a stream failed, and the store could not record the failure. The stream is tried again after a few seconds. A line with a stack is a bug: please report it.',
    text: ({ error }) => messageOf(error),
    condition: { by: ['code'] },
  },
  UpkeepFailed: {
    level: 'error',
    meaning:
      'A background task (heartbeat, housekeeping, reconciliation of the files with their committed lengths, removal of old days, figures for metrics, discovery of zones) failed. It is tried again. A line with a stack is a bug: please report it.',
    text: ({ task, error }) => `${task} failed: ${messageOf(error)}`,
    condition: { by: ['task', 'code'] },
  },
  QueueFailed: {
    level: 'error',
    meaning:
      'The queue in Redis failed, mostly its connection, which is then opened again. Streams continue from their checkpoints when Redis answers. A line with a stack is a bug: please report it.',
    text: ({ error }) => `the queue stands still: ${messageOf(error)}`,
    condition: { by: ['code'], hasEnd: true },
  },
  QueueRecovered: {
    level: 'info',
    meaning:
      'Redis answers again, and the queue has had no error for ten seconds: a line reports the end of each QueueFailed.',
    ends: ['QueueFailed'],
  },
} satisfies SomeDefinitions
