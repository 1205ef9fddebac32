import type { Definitions } from '../definition.ts'
import { countPhrase } from '../phrases.ts'

export const sinkInternalEvents: Definitions<'SinkAnswered' | 'EventsLost' | 'SinkHeld' | 'SinkReleased'> = {
  SinkAnswered: {
    level: 'debug',
    meaning: 'One request or write to a sink ended. Each retry counts.',
    count({ sink, outcome, seconds, bytes }, metrics) {
      metrics.count('sink_requests_total', { sink, outcome })
      metrics.count('sink_request_duration_seconds', { sink }, seconds)
      if (outcome === 'ok') metrics.count('sink_bytes_total', { sink }, bytes)
    },
    tell({ sink, outcome, seconds, bytes }, voice) {
      voice.detail(() => [
        `sink ${sink}: ${outcome} in ${Math.round(seconds * 1000)} ms`,
        { sink, outcome, seconds, bytes },
      ])
    },
  },
  SinkHeld: {
    level: 'error',
    meaning:
      'Nothing is shipped to a sink, since everything would be shipped to it again, or events would be in its folder twice: it looks like a renamed one, or its folder has files of another sink of the state. The message names the remedy; other sinks are not affected.',
    tell({ sink, why }, voice) {
      voice.line('error', `sink ${sink} is held: ${why}`, { sink, why })
    },
  },
  SinkReleased: {
    level: 'info',
    meaning: 'A sink that was held is shipped to from now on.',
    tell({ sink }, voice) {
      voice.line('info', `sink ${sink} is no longer held`, { sink })
    },
  },
  EventsLost: {
    level: 'error',
    meaning:
      'A destination acknowledged a body but answered that it dropped some of its events, without saying which: they are neither stored there nor dead letters. `backfill --resend` ships the day again, with duplicates.',
    count({ sink, count }, metrics) {
      metrics.count('events_lost_total', { sink }, count)
    },
    tell({ sink, count, answer }, voice) {
      voice.report({
        group: sink,
        level: 'error',
        sink,
        message: `sink ${sink}: the destination dropped ${countPhrase(count, 'event')} of a body that it acknowledged${answer === '' ? '' : `: ${answer}`}`,
        about: `sink ${sink}: events dropped by the destination`,
        fields: { sink },
        details: { count, answer },
      })
    },
  },
}
