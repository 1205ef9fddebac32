import type { Definitions } from '../definition.ts'

export const sinkInternalEvents: Definitions<'SinkAnswered'> = {
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
}
