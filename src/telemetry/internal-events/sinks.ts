import { messageOf } from '../../domain/failure.ts'
import { removedText } from '../../domain/retention.ts'
import { counted, countOf } from '../../domain/text/counts.ts'
import type { SomeDefinitions } from './definition.ts'

const condition = { by: ['sink'] }

export const sinkInternalEvents = {
  SinkAnswered: {
    level: 'debug',
    meaning: 'One request or write to a sink ended. Each retry counts.',
    counts: { sink_requests_total: 1, sink_request_duration_seconds: 'seconds', sink_bytes_total: 'bytes' },
    text: ({ outcome, seconds }) => `${outcome} in ${Math.round(seconds * 1000)} ms`,
  },
  SinkHeld: {
    level: 'error',
    meaning:
      'Nothing is shipped to a sink, since everything would be shipped to it again, or events would be in its folder twice: it looks like a renamed one, or its folder has files of another sink of the state. The message names the remedy; other sinks are not affected.',
    text: ({ why }) => `held: ${why}`,
  },
  SinkReleased: {
    level: 'info',
    meaning: 'A sink that was held is shipped to from now on.',
    text: () => 'no longer held',
  },
  EventsLost: {
    level: 'error',
    meaning:
      'A destination acknowledged a body but answered that it dropped some of its events, without saying which: they are neither stored there nor dead letters. `backfill --resend` ships the day again, with duplicates.',
    counts: { events_lost_total: 'count' },
    text: ({ count, answer }) =>
      `the destination dropped ${counted(count, 'event')} of a body that it acknowledged${answer === '' ? '' : `: ${answer}`}`,
    condition,
  },
  ObjectWritten: {
    level: 'debug',
    meaning: 'One object was written into a bucket.',
    counts: { sink_objects_total: 1 },
  },
  ObjectAdopted: {
    level: 'info',
    meaning:
      'An earlier try had written an object, but was not committed: a lost answer, a crash, or a state that was set back. Its events count as delivered. Normal after a crash.',
    counts: { sink_objects_adopted_total: 1 },
    text: ({ key }) => `found ${key}, which an earlier try had written: its events count as delivered`,
    condition,
  },
  FileCut: {
    level: 'info',
    meaning:
      'shieldlog cut a part back to its committed length. The events after that length are read again, or are in another part. Normal after a crash. A copy of what was cut is kept for two weeks.',
    counts: { part_repairs_total: 1 },
    labels: { repair: 'cut' },
    text: ({ part, bytes, keptAside }) =>
      `cut ${bytes} uncommitted bytes off ${part}${keptAside ? '; a copy is kept under .shieldlog/aside/' : ''}`,
    condition,
  },
  FileShort: {
    level: 'error',
    meaning:
      'A part is shorter than its committed length: another program or the disk lost data. Later events go to a new part. `audit --deep` finds what is missing; `audit --deep --repair` writes it again.',
    counts: { part_repairs_total: 1 },
    labels: { repair: 'short' },
    text: ({ part, expected, found }) =>
      `${part} has ${found} of ${expected} committed bytes: data was lost on disk; \`audit --deep --repair\` writes it again`,
    condition,
  },
  FileReplaced: {
    level: 'warn',
    meaning: 'Another program moved, removed or changed a part. Later events go to a new part.',
    counts: { part_repairs_total: 1 },
    labels: { repair: 'replaced' },
    text: ({ part, why }) => `later events of ${part} go to a new part: ${why}`,
    condition,
  },
  PartCompressed: {
    level: 'debug',
    meaning: 'A closed part was compressed.',
    text: ({ part, bytes, compressedBytes }) =>
      `compressed ${part} from ${bytes} to ${compressedBytes} bytes`,
  },
  CompressionFailed: {
    level: 'warn',
    meaning: 'A closed part could not be compressed. It stays plain, and compression is tried again later.',
    text: ({ part, error }) =>
      `cannot compress ${part ?? 'closed parts'}, which stay plain: ${messageOf(error)}`,
    fields: ({ sink, part }) => ({ sink, part }),
    condition,
  },
  PartsOfAnotherStore: {
    level: 'warn',
    meaning:
      'The folder contains parts that another store or sink wrote: the store was lost or replaced. shieldlog does not change them and writes new parts; events may be in both.',
    text: ({ why }) => `leaves parts in its folder alone that it did not write: ${why}`,
    condition,
  },
  DayRemoved: {
    level: 'info',
    meaning:
      'The `retention` of a file sink removed the files of a zone and day. The ledger keeps a mark of it, so that an audit does not call them missing.',
    counts: { sink_removals_total: 1 },
    text: ({ stream: { day }, limit, bytes }) =>
      `${day} was ${removedText(limit)}: ${countOf(bytes, 'byte')}`,
    fields: ({ stream, bytes }) => ({ ...stream, bytes }),
    condition: { by: ['sink', 'day'] },
  },
  RetentionExceeded: {
    level: 'warn',
    meaning:
      'A file sink has more than `retention.maxBytes`, and its other days must stay: they have not ended, can still be read, or a backfill needs them. Raise the limit, or give the sink fewer events. Logged once while it lasts.',
    text: ({ excessBytes }) =>
      `${countOf(excessBytes, 'byte')} more than retention.maxBytes: the days that are left can still be read, so they stay`,
    condition: { ...condition, lastsMs: 2 * 86_400_000 },
  },
} satisfies SomeDefinitions
