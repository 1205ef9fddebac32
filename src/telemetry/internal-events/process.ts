import type { Definitions } from '../definition.ts'
import { countPhrase } from '../phrases.ts'

export const processInternalEvents: Definitions<
  'Started' | 'Stopping' | 'Stopped' | 'ServerListening' | 'ConfigReloaded' | 'ConfigRefused' | 'Warned'
> = {
  Started: {
    level: 'info',
    meaning: 'The process has started.',
    tell({ version, zones, sinks, state }, voice) {
      voice.line(
        'info',
        `shieldlog ${version} ships ${countPhrase(zones, 'zone')} to ${sinks.join(', ')}; state in ${state}`,
        { version, zones, sinks, state },
      )
    },
  },
  Stopping: {
    level: 'info',
    meaning:
      'A signal asked the process to stop. It finishes the deliveries in progress; a second signal ends it at once.',
    tell({ signal }, voice) {
      voice.line('info', `stopping (${signal})`, { signal })
    },
  },
  Stopped: {
    level: 'info',
    meaning: 'The process has stopped and closed everything. This is its last line.',
    tell(_internal_event, voice) {
      voice.line('info', 'stopped')
    },
  },
  ServerListening: {
    level: 'info',
    meaning: 'Metrics, health and status are served at this address.',
    tell({ address }, voice) {
      voice.line('info', `serving metrics, health and status at ${address}`, { address })
    },
  },
  ConfigReloaded: {
    level: 'warn',
    meaning: 'The new configuration is in force. Level warn: a change needs a restart.',
    count(_internal_event, metrics) {
      metrics.count('config_reloads_total', { result: 'taken' })
    },
    tell({ changed, needsRestart }, voice) {
      voice.conditions.retain((zone, sink) => voice.isConfigured(zone, sink))
      const what = changed.length === 0 ? 'nothing changed' : `changed: ${changed.join(', ')}`
      const waits = needsRestart.length === 0 ? '' : `; needs a restart: ${needsRestart.join(', ')}`
      const level = needsRestart.length === 0 ? 'info' : 'warn'
      voice.line(level, `read the configuration again; ${what}${waits}`, { changed, needsRestart })
    },
  },
  ConfigRefused: {
    level: 'error',
    meaning: 'The new configuration has errors, which the line lists. The old one stays in force.',
    count(_internal_event, metrics) {
      metrics.count('config_reloads_total', { result: 'refused' })
    },
    tell({ errors }, voice) {
      voice.line(
        'error',
        `the new configuration has ${countPhrase(errors.length, 'error')}, the old one stays in force: ${errors.join('; ')}`,
        { errors },
      )
    },
  },
  Warned: {
    level: 'warn',
    meaning: 'A warning without a more specific event; `about` names the part of shieldlog.',
    tell({ about, text }, voice) {
      voice.report({
        group: `${about} ${text}`,
        level: 'warn',
        message: `${about}: ${text}`,
        about: `${about}: ${text}`,
        fields: { about },
      })
    },
  },
}
