import { messageOf, withoutSink, type Failure, type FailureCode } from '../../domain/failure.ts'
import { removedText } from '../../domain/retention.ts'
import type { Stream } from '../../domain/stream.ts'
import { counted, countOf } from '../../domain/text/terminal-text.ts'
import { durationText } from '../../domain/text/time.ts'
import type { SomeDefinitions, Now } from './definition.ts'

/** How long after its next try a stream may be silent before another worker is assumed to have it. */
const graceMs = 900_000

/** By default no day is read for longer. */
const longestReadMs = 5 * 86_400_000

const condition = { by: ['sink'] }

export const shippingInternalEvents = {
  PageFetched: {
    level: 'debug',
    meaning: 'A page of a stream was read.',
    counts: { events_fetched_total: 'events', pages_fetched_total: 1 },
    text: ({ events }) => `read ${counted(events, 'event')}`,
  },
  LoadCommitted: {
    level: 'debug',
    meaning: 'Consecutive pages of a scan were delivered and committed to the store.',
    counts: {
      events_delivered_total: 'delivered',
      events_duplicate_total: 'duplicates',
      events_filtered_total: 'filtered',
      events_late_total: 'late',
      checkpoint_commit_duration_seconds: 'commitSeconds',
      event_delay_seconds: 'delaysSeconds',
    },
    text: ({ delivered }) => `delivered ${counted(delivered, 'event')}`,
    fields: ({ name: _name, stream, delaysSeconds: _delays, ...counts }) => ({ ...stream, ...counts }),
  },
  EventDeadLettered: {
    level: 'warn',
    meaning:
      'The sink never accepts this event, so it became a dead letter. `dead-letters show` prints it; `dead-letters replay` or `drop` removes it.',
    counts: { events_dead_lettered_total: 1 },
    text: ({ reason, answer }) => `an event became a dead letter (${reason}): ${answer.slice(0, 300)}`,
    fields: ({ stream, id, reason }) => ({ ...stream, id, reason }),
    condition: { by: ['sink', 'reason'] },
  },
  EventsSkipped: {
    level: 'warn',
    meaning:
      'The destination takes no events of that age. They are counted as skipped (`status --json`, `audit`), and are no dead letters, since a replay would not help. With a first start, `poll.firstRunDays` says how many days are read.',
    counts: { events_skipped_total: 'count' },
    text: ({ stream, reason, count, answer }) =>
      `skipped ${counted(count, 'event')} of ${stream.day} (${reason}): ${answer.slice(0, 300)}`,
    fields: ({ stream, count, reason }) => ({ ...stream, events: count, reason }),
    condition: { by: ['sink', 'reason'] },
  },
  StreamEnded: {
    level: 'debug',
    meaning: 'The last scan of a past day is done (complete), or its events are gone (expired).',
    ends: ['StreamFailed', 'ScanGuarded'],
    text: ({ stream, as }) => `${stream.day} is ${as}`,
  },
  GapFound: {
    level: 'error',
    meaning:
      'The API no longer answers for events of this zone: this sink has lost them. `gaps list` shows every gap, and `gaps acknowledge` ends the alarm.',
    counts: { gaps_recorded_total: 1 },
    text: ({ gap: { day, reason } }) =>
      `lost events of ${day}, which the API no longer answers for (${reason}); \`gaps list\` shows all gaps`,
    condition: { by: ['sink', 'reason'] },
  },
  DaysSkipped: {
    level: 'warn',
    meaning: 'Days of a new zone or sink are not read, because of poll.firstRunDays.',
    text: ({ from, to }) =>
      `${from === to ? from : `${from} to ${to}`} is not read because of poll.firstRunDays; \`backfill\` can read it while the API keeps it`,
    condition: { by: ['sink', 'from', 'to'] },
  },
  IdSeenWithOtherTime: {
    level: 'warn',
    meaning:
      'The API gave two events with different times the same log id. Both were delivered. Deduplicate by id and time. Logged once.',
    text: () => 'the API gave events with different times the same log id; shieldlog delivers both',
    condition: { by: [], lastsMs: Infinity },
  },
  IdSharedByEvents: {
    level: 'warn',
    meaning:
      'The API gave two events with the same log id and time, but other content. Both were delivered, each with an id of its own: the log id, `~` and a hash of the entry. Logged once for a zone and day.',
    text: ({ stream: { day } }) =>
      `${day}: the API gave events with other content the same log id and time; shieldlog delivers each with an id of its own and does not report further ones of this day`,
    condition: { by: ['zone', 'day'], lastsMs: longestReadMs },
  },
  ScanCompleted: {
    level: 'debug',
    meaning: 'A scan reached its end.',
    ends: ['ScanGuarded', 'StreamFailed'],
    text: ({ stream, kind, pages, found, seconds }) =>
      `${kind} scan of ${stream.day} found ${found} on ${counted(pages, 'page')} in ${durationText(seconds)}`,
  },
  ScanGuarded: {
    level: 'warn',
    meaning:
      'The listing of the API did not end (cursors in a circle, empty pages without end, ...), so shieldlog stopped the scan. The stream waits and begins a new scan.',
    counts: { scans_guarded_total: 1 },
    text: ({ stream, guard, pages }) =>
      `stopped the scan of ${stream.day} after ${counted(pages, 'page')} because the listing does not end: ${guard}`,
    // A guarded stream backs off up to an hour.
    condition: { by: ['guard', 'account'], hasEnd: true, lastsMs: 2 * 3_600_000 },
  },
  CursorExpired: {
    level: 'warn',
    meaning:
      'The API refused a cursor during a scan, so a full scan begins. A stored cursor that expires between scans is normal (level debug).',
    text: ({ stored, restarts }) =>
      stored
        ? 'a stored cursor has expired'
        : `a cursor expired during a scan; a full scan begins (restart ${restarts} in a row)`,
    levelOf: ({ stored }) => (stored ? 'debug' : 'warn'),
    condition: { by: ['account'] },
  },
  OrderingChanged: {
    level: 'info',
    meaning:
      'Scans confirmed where the listing shows new events, so polls read only there (level debug); or a poll missed events, so every poll reads the whole day again (level info).',
    text: ({ from, to, why }) =>
      to === 'unknown'
        ? `revoked the ordering ${from}, so polls read the whole day: ${why}`
        : `confirmed the ordering ${to}: ${why}`,
    levelOf: ({ to }) => (to === 'unknown' ? 'info' : 'debug'),
    condition: { by: ['account'] },
  },
  StreamFailed: {
    level: 'error',
    meaning:
      'A pump failed. The checkpoint keeps its position, and the stream is tried again. Level warn: it may recover without help; level error: a person must act. Streams that fail for the same reason share one line.',
    counts: { stream_failures_total: 1 },
    levelOf({ stream, failure }, now) {
      const { kind, code } = failure
      if (isToldElsewhere(stream, failure, now)) return 'debug'
      if (kind === 'stop' || kind === 'refuse') return 'error'
      // Waiting for the predecessor is normal in a takeover.
      return code === 'held' ? 'info' : 'warn'
    },
    text: ({ stream, failure }) => withoutSink(failure.message, stream.sink),
    condition: {
      by: ({ failure }) => ['code', ...(sides[failure.code] ?? ['account', 'sink'])],
      hasEnd: true,
      lastsMs: ({ retryAtMs }, { nowMs }) =>
        (Number.isFinite(retryAtMs) ? Math.max(0, retryAtMs - nowMs) : 0) + graceMs,
    },
  },
  StreamRecovered: {
    level: 'debug',
    meaning:
      'A pump succeeded after failures. When the last stream has recovered, a line reports the end of the failure.',
    ends: ['StreamFailed'],
    text: ({ failures, seconds }) =>
      `recovered after ${counted(failures, 'failure')} in ${durationText(seconds)}`,
  },
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

/** True for a failure that another internal event reports, or that is no error of this process. */
function isToldElsewhere(stream: Stream, { kind, code }: Failure, now: Now): boolean {
  if (kind === 'cancelled' || code === 'scan_guarded') return true
  return code === 'throttled' && now.isThrottled(stream)
}

const account = ['account']
const sink = ['sink']
const store: string[] = []

/** The side that causes a failure, shared by many streams. Any other failure may be caused by either side. */
const sides: Readonly<Partial<Record<FailureCode, readonly string[]>>> = {
  window_closed: account,
  cursor_expired: account,
  unauthorised: account,
  zone_gone: account,
  page_too_large: account,
  sink_refuses: sink,
  sink_gone: sink,
  disk_full: sink,
  unwritable: sink,
  dead_letters_full: sink,
  store_unavailable: store,
  store_refuses: store,
  no_store: store,
  fence_lost: store,
  held: store,
  index_dropped: store,
}
