import { withoutSink, type Failure, type FailureCode } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import { durationText } from '../../domain/text/time.ts'
import { counted } from '../../domain/text/counts.ts'
import type { SomeDefinitions, Now } from './definition.ts'

/** How long after its next try a stream may be silent before another worker is assumed to have it. */
const graceMs = 900_000

/** By default no day is read for longer. */
const readableMs = 5 * 86_400_000

export const streamInternalEvents = {
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
    fields: ({ stream, id }) => ({ ...stream, id }),
    condition: { by: ['sink', 'reason'] },
  },
  EventsSkipped: {
    level: 'warn',
    meaning:
      'The destination takes no events of that age. They are counted as skipped (`status --json`, `audit`), and are no dead letters, since a replay would not help. With a first start, `poll.firstRunDays` says how many days are read.',
    counts: { events_skipped_total: 'count' },
    text: ({ stream, reason, count, answer }) =>
      `skipped ${counted(count, 'event')} of ${stream.day} (${reason}): ${answer.slice(0, 300)}`,
    fields: ({ stream }) => ({ ...stream }),
    condition: { by: ['sink', 'reason'] },
  },
  StreamEnded: {
    level: 'debug',
    meaning:
      'The last scan of a past day is done (complete), or the API no longer answers for the day (expired).',
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
    meaning:
      'A new zone or sink begins later than the API allows, because poll.firstRunDays is less than poll.readableDays.',
    text: ({ from, to }) =>
      `${from === to ? from : `${from} to ${to}`} is not read because of poll.firstRunDays; \`backfill\` can read it while the API keeps it`,
    condition: { by: ['sink', 'from', 'to'] },
  },
  IdSeenWithOtherTime: {
    level: 'warn',
    meaning:
      'The API gave two events with different times the same log id. Both were delivered. Deduplicate by id and time. Logged once.',
    text: () =>
      'the API gave events with different times the same log id; shieldlog delivers both and does not report further ones',
    condition: { by: [], lastsMs: Number.POSITIVE_INFINITY },
  },
  IdSharedByEvents: {
    level: 'warn',
    meaning:
      'The API gave two events with the same log id and time, but other content. Both were delivered, each with an id of its own: the log id, `~` and a hash of the entry. Logged once for a zone and day.',
    text: ({ stream: { day } }) =>
      `${day}: the API gave events with other content the same log id and time; shieldlog delivers each with an id of its own and does not report further ones of this day`,
    condition: { by: ['zone', 'day'], lastsMs: readableMs },
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
    condition: { by: ['account'], stands: ({ stored }) => !stored },
  },
  OrderingChanged: {
    level: 'info',
    meaning:
      'Scans confirmed where the listing shows new events, so polls read only there (level debug); or a poll missed events, so every poll reads the whole day again (level info).',
    text: ({ from, to, why }) =>
      to === 'unknown'
        ? `revoked the ordering ${from}, so polls read the whole day: ${why}`
        : `confirmed the ordering ${to}: ${why}`,
    condition: { by: ['account'], stands: ({ to }) => to === 'unknown' },
  },
  StreamFailed: {
    level: 'error',
    meaning:
      'A pump failed. The checkpoint keeps its position, and the stream is tried again. Level warn: it may recover without help; level error: a person must act. Streams that fail for the same reason share one line.',
    counts: { stream_failures_total: 1 },
    levelOf: ({ failure: { kind, code } }) =>
      // Waiting for the predecessor is normal in a takeover.
      kind === 'stop' || kind === 'refuse' ? 'error' : code === 'held' ? 'info' : 'warn',
    text: ({ stream, failure }) => withoutSink(failure.message, stream.sink),
    condition: {
      by: ({ failure }) => ['code', ...(sides[failure.code] ?? ['account', 'sink'])],
      hasEnd: true,
      lastsMs: ({ retryAtMs }, { nowMs }) =>
        (Number.isFinite(retryAtMs) ? Math.max(0, retryAtMs - nowMs) : 0) + graceMs,
      stands: ({ stream, failure }, now) => !isToldElsewhere(stream, failure, now),
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
