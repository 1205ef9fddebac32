import type { Definitions } from '../definition.ts'
import { countPhrase } from '../phrases.ts'

export const sinkInternalEvents: Definitions<'SinkAnswered' | 'EventsLost'> = {
  SinkAnswered: {
    level: 'debug',
    meaning: 'One request or write to a sink ended. Each retry counts.',
    count({ sink, outcome, seconds, bytes }, metrics) {
      metrics.count('sinkRequests', { sink, outcome })
      metrics.count('sinkRequestDuration', { sink }, seconds)
      if (outcome === 'ok') metrics.count('sinkBytes', { sink }, bytes)
    },
    tell({ sink, outcome, seconds, bytes }, voice) {
      voice.detail(() => [
        `sink ${sink}: ${outcome} in ${Math.round(seconds * 1000)} ms`,
        { sink, outcome, seconds, bytes },
      ])
    },
  },
  EventsLost: {
    level: 'error',
    meaning:
      'A destination acknowledged a body but answered that it dropped some of its events, without saying which: they are neither stored there nor dead letters. `backfill --resend` ships the day again, with duplicates.',
    count({ sink, count }, metrics) {
      metrics.count('eventsLost', { sink }, count)
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
