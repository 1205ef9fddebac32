import type { Definitions } from '../definition.ts'
import { countPhrase } from '../phrases.ts'

export const processInternalEvents: Definitions<
  'Started' | 'Stopping' | 'Stopped' | 'ServerListening' | 'ConfigReloaded' | 'ConfigRefused' | 'Warned'
> = {
  Started: {
    level: 'info',
    meaning: 'The process runs and ships; the line tells what to where.',
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
    meaning: 'The process was asked to stop and ends what it has begun. A second signal ends it at once.',
    tell({ signal }, voice) {
      voice.line('info', `stopping (${signal})`, { signal })
    },
  },
  Stopped: {
    level: 'info',
    meaning: 'Everything is put away; the last line of a process.',
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
    meaning:
      'The configuration was read again and is in force (info). Warns where a change waits for a restart.',
    count(_internal_event, metrics) {
      metrics.count('configReloads', { result: 'taken' })
    },
    tell({ changed, needsRestart }, voice) {
      voice.conditions.retain((zone, sink) => voice.isConfigured(zone, sink))
      const what = changed.length === 0 ? 'nothing changed' : `changed: ${changed.join(', ')}`
      const waits = needsRestart.length === 0 ? '' : `; after a restart only: ${needsRestart.join(', ')}`
      const level = needsRestart.length === 0 ? 'info' : 'warn'
      voice.line(level, `configuration read again; ${what}${waits}`, { changed, needsRestart })
    },
  },
  ConfigRefused: {
    level: 'error',
    meaning:
      'The configuration that was read again has errors. All are named, and the old one stays in force.',
    count(_internal_event, metrics) {
      metrics.count('configReloads', { result: 'refused' })
    },
    tell({ errors }, voice) {
      voice.line(
        'error',
        `configuration refused, the old one stays: ${countPhrase(errors.length, 'error')}: ${errors.join('; ')}`,
        { errors },
      )
    },
  },
  Warned: {
    level: 'warn',
    meaning:
      'Something that an operator should know and that has no event of its own; `about` names the part.',
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
