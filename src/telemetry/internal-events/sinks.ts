import { messageOf } from '../../domain/failure.ts'
import type { Report } from '../conditions.ts'
import { countPhrase } from '../phrases.ts'
import type { Definitions } from './definition.ts'

/** One condition for each sink. */
function ofSink(sink: string, message: string, about: string, more: Partial<Report> = {}): Report {
  const fields = { sink }
  return {
    group: sink,
    sink,
    message: `sink ${sink}: ${message}`,
    about: `sink ${sink}: ${about}`,
    fields,
    ...more,
  }
}

export const sinkInternalEvents: Definitions<
  | 'SinkAnswered'
  | 'SinkHeld'
  | 'SinkReleased'
  | 'EventsLost'
  | 'FileCut'
  | 'FileShort'
  | 'FileReplaced'
  | 'PartCompressed'
  | 'CompressionFailed'
  | 'PartsOfAnotherStore'
> = {
  SinkAnswered: {
    level: 'debug',
    meaning: 'One request or write to a sink ended. Each retry counts.',
    count({ sink, outcome, seconds, bytes }, metrics) {
      metrics.count('sink_requests_total', { sink, outcome })
      metrics.count('sink_request_duration_seconds', { sink }, seconds)
      if (outcome === 'ok') metrics.count('sink_bytes_total', { sink }, bytes)
    },
    line: ({ sink, outcome, seconds }) => `sink ${sink}: ${outcome} in ${Math.round(seconds * 1000)} ms`,
  },
  SinkHeld: {
    level: 'error',
    meaning:
      'Nothing is shipped to a sink, since everything would be shipped to it again, or events would be in its folder twice: it looks like a renamed one, or its folder has files of another sink of the state. The message names the remedy; other sinks are not affected.',
    line: ({ sink, why }) => `sink ${sink} is held: ${why}`,
  },
  SinkReleased: {
    level: 'info',
    meaning: 'A sink that was held is shipped to from now on.',
    line: ({ sink }) => `sink ${sink} is no longer held`,
  },
  EventsLost: {
    level: 'error',
    meaning:
      'A destination acknowledged a body but answered that it dropped some of its events, without saying which: they are neither stored there nor dead letters. `backfill --resend` ships the day again, with duplicates.',
    count({ sink, count }, metrics) {
      metrics.count('events_lost_total', { sink }, count)
    },
    report: ({ sink, count, answer }) =>
      ofSink(
        sink,
        `the destination dropped ${countPhrase(count, 'event')} of a body that it acknowledged${answer === '' ? '' : `: ${answer}`}`,
        'events dropped by the destination',
      ),
  },
  FileCut: {
    level: 'info',
    meaning:
      'shieldlog cut a part back to its committed length. The events after that length are read again, or are in another part. Normal after a crash. A copy of what was cut is kept for two weeks.',
    count({ sink }, metrics) {
      metrics.count('part_repairs_total', { sink, repair: 'cut' })
    },
    report({ sink, part, bytes, keptAside }) {
      const copy = keptAside ? '; a copy is kept under .shieldlog/aside/' : ''
      const message = `cut ${bytes} uncommitted bytes off ${part}${copy}`
      return ofSink(sink, message, 'parts cut back to their committed lengths')
    },
  },
  FileShort: {
    level: 'error',
    meaning:
      'A part is shorter than its committed length: another program or the disk lost data. Later events go to a new part. `audit --deep` finds what is missing; `audit --deep --repair` writes it again.',
    count({ sink }, metrics) {
      metrics.count('part_repairs_total', { sink, repair: 'short' })
    },
    report({ sink, part, expected, found }) {
      const message = `${part} has ${found} of ${expected} committed bytes: data was lost on disk; \`audit --deep --repair\` writes it again`
      return ofSink(sink, message, 'parts shorter than their committed length')
    },
  },
  FileReplaced: {
    level: 'warn',
    meaning: 'Another program moved, removed or changed a part. Later events go to a new part.',
    count({ sink }, metrics) {
      metrics.count('part_repairs_total', { sink, repair: 'replaced' })
    },
    report({ sink, part, why }) {
      const message = `later events of ${part} go to a new part: ${why}`
      return ofSink(sink, message, 'parts that other programs changed')
    },
  },
  PartCompressed: {
    level: 'debug',
    meaning: 'A closed part was compressed.',
    line: ({ sink, part, bytes, compressedBytes }) =>
      `sink ${sink}: compressed ${part} from ${bytes} to ${compressedBytes} bytes`,
  },
  CompressionFailed: {
    level: 'warn',
    meaning: 'A closed part could not be compressed. It stays plain, and compression is tried again later.',
    report({ sink, part, error }) {
      const message = `cannot compress ${part ?? 'closed parts'}, which stay plain: ${messageOf(error)}`
      return ofSink(sink, message, 'parts that cannot be compressed', { details: { part } })
    },
  },
  PartsOfAnotherStore: {
    level: 'warn',
    meaning:
      'The folder contains parts that another store or sink wrote: the store was lost or replaced. shieldlog does not change them and writes new parts; events may be in both.',
    report({ sink, why }) {
      const message = `leaves parts in its folder alone that it did not write: ${why}`
      return ofSink(sink, message, 'parts of another store')
    },
  },
}
