import type { Failure, FailureCode } from '../../domain/failure.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import { withoutSink } from '../../domain/failure.ts'
import type { Fields, LineLevel } from '../logger.ts'
import { countPhrase, durationPhrase, instantPhrase, reasonPhrases } from '../phrases.ts'
import type { About, Definitions } from './definition.ts'

/** How long after its next try a stream may be silent before another worker is assumed to have it. */
const graceMs = 900_000

/** By default no day is read for longer. */
const readableMs = 5 * 86_400_000

export const streamInternalEvents: Definitions<
  | 'PageFetched'
  | 'PageCommitted'
  | 'EventDeadLettered'
  | 'EventsSkipped'
  | 'StreamEnded'
  | 'GapFound'
  | 'DaysSkipped'
  | 'IdSeenWithOtherTime'
  | 'IdSharedByEvents'
  | 'ScanCompleted'
  | 'ScanGuarded'
  | 'CursorExpired'
  | 'OrderingChanged'
  | 'StreamFailed'
  | 'StreamRecovered'
> = {
  PageFetched: {
    level: 'debug',
    meaning: 'A page of a stream was read.',
    count({ stream, events }, metrics) {
      const zone = String(stream.zone)
      metrics.count('events_fetched_total', { zone }, events)
      metrics.count('pages_fetched_total', { zone, sink: stream.sink })
    },
    line: ({ stream, events }, about) => `${about.stream(stream)}: read ${countPhrase(events, 'event')}`,
  },
  PageCommitted: {
    level: 'debug',
    meaning: 'A page was delivered and committed to the store.',
    count(internalEvent, metrics) {
      const { stream, priority } = internalEvent
      const { sink } = stream
      const route = { zone: String(stream.zone), sink }
      metrics.count('events_delivered_total', route, internalEvent.delivered)
      metrics.count('events_duplicate_total', route, internalEvent.duplicates)
      metrics.count('events_filtered_total', route, internalEvent.filtered)
      metrics.count('events_late_total', route, internalEvent.late)
      if (internalEvent.commitSeconds !== undefined)
        metrics.count('checkpoint_commit_duration_seconds', {}, internalEvent.commitSeconds)
      metrics.count('event_delay_seconds', { sink, priority }, internalEvent.delaysSeconds)
    },
    line: ({ stream, delaysSeconds: _delays, name: _name, ...counts }, about) => ({
      message: `${about.stream(stream)}: delivered ${countPhrase(counts.delivered, 'event')}`,
      fields: { ...stream, ...counts },
    }),
  },
  EventDeadLettered: {
    level: 'warn',
    meaning:
      'The sink never accepts this event, so it became a dead letter. `dead-letters show` prints it; `dead-letters replay` or `drop` removes it.',
    count({ stream, reason }, metrics) {
      metrics.count('events_dead_lettered_total', { sink: stream.sink, reason })
    },
    report: ({ stream, id, reason, answer }, about) => ({
      group: `${stream.sink} ${reason}`,
      message: `${about.stream(stream)}: an event became a dead letter (${reason}): ${answer.slice(0, 300)}`,
      about: `sink ${stream.sink}: dead letters (${reason})`,
      fields: { sink: stream.sink, reason },
      details: { zone: stream.zone, day: stream.day, id },
    }),
  },
  EventsSkipped: {
    level: 'warn',
    meaning:
      'The destination takes no events of that age. They are counted as skipped (`status --json`, `audit`), and are no dead letters, since a replay would not help. With a first start, `poll.firstRunDays` says how many days are read.',
    count({ stream, reason, count }, metrics) {
      metrics.count('events_skipped_total', { zone: String(stream.zone), sink: stream.sink, reason }, count)
    },
    report: ({ stream, reason, count, answer }, about) => ({
      group: `${stream.sink} ${reason}`,
      message: `${about.stream(stream)}: skipped ${countPhrase(count, 'event')} of ${stream.day} (${reason}): ${answer.slice(0, 300)}`,
      about: `sink ${stream.sink}: events skipped (${reason})`,
      fields: { sink: stream.sink, reason },
      details: { zone: stream.zone, day: stream.day, count },
    }),
  },
  StreamEnded: {
    level: 'debug',
    meaning:
      'The last scan of a past day is done (complete), or the API no longer answers for the day (expired).',
    ends({ stream }, conditions) {
      conditions.leave('StreamFailed', streamKey(stream))
      conditions.leave('ScanGuarded', streamKey(stream))
    },
    line: ({ stream, as }, about) => `${about.stream(stream)}: ${stream.day} is ${as}`,
  },
  GapFound: {
    level: 'error',
    meaning:
      'The API no longer answers for events of this zone: this sink has lost them. `gaps list` shows every gap, and `gaps acknowledge` ends the alarm.',
    count({ gap }, metrics) {
      metrics.count('gaps_recorded_total', { zone: String(gap.zone), sink: gap.sink, reason: gap.reason })
    },
    report({ gap }, about) {
      const { zone, sink, day, reason } = gap
      return {
        group: `${sink} ${reason}`,
        zone,
        sink,
        message: `${about.stream(gap)}: lost events of ${day}, which the API no longer answers for (${reason}); \`gaps list\` shows all gaps`,
        about: `sink ${sink}: gaps (${reason})`,
        fields: { sink, reason },
        details: { zone, day, from: instantPhrase(gap.from), to: instantPhrase(gap.to) },
      }
    },
  },
  DaysSkipped: {
    level: 'warn',
    meaning:
      'A new zone or sink begins later than the API allows, because poll.firstRunDays is less than poll.readableDays.',
    report: ({ zone, sink, from, to }, about) => ({
      group: `${sink} ${from} ${to}`,
      message: `${about.zone(zone)} → ${sink}: ${from === to ? from : `${from} to ${to}`} is not read because of poll.firstRunDays; \`backfill\` can read it while the API keeps it`,
      about: `sink ${sink}: days skipped at the first run, ${from} to ${to}`,
      fields: { sink, from, to },
    }),
  },
  IdSeenWithOtherTime: {
    level: 'warn',
    meaning:
      'The API gave two events with different times the same log id. Both were delivered. Deduplicate by id and time. Logged once.',
    report: ({ stream }, about) => ({
      group: 'all',
      message: `${about.stream(stream)}: the API gave events with different times the same log id; shieldlog delivers both and does not report further ones`,
      about: 'log ids used twice with different times',
      fadesAfterMs: Number.POSITIVE_INFINITY,
      once: true,
    }),
  },
  IdSharedByEvents: {
    level: 'warn',
    meaning:
      'The API gave two events with the same log id and time, but other content. Both were delivered, each with an id of its own: the log id, `~` and a hash of the entry. Logged once for a zone and day.',
    report: ({ stream }, about) => ({
      group: `${stream.zone} ${stream.day}`,
      message: `${about.zone(stream.zone)} ${stream.day}: the API gave events with other content the same log id and time; shieldlog delivers each with an id of its own and does not report further ones of this day`,
      about: `log ids used twice at the same time, ${stream.zone} ${stream.day}`,
      fadesAfterMs: readableMs,
      once: true,
    }),
  },
  ScanCompleted: {
    level: 'debug',
    meaning: 'A scan reached its end.',
    ends({ stream }, conditions) {
      conditions.leave('ScanGuarded', streamKey(stream))
      conditions.leave('StreamFailed', streamKey(stream))
    },
    line: ({ stream, kind, pages, found, seconds }, about) =>
      `${about.stream(stream)}: ${kind} scan of ${stream.day} found ${found} on ${countPhrase(pages, 'page')} in ${durationPhrase(seconds * 1000)}`,
  },
  ScanGuarded: {
    level: 'warn',
    meaning:
      'The listing of the API did not end (cursors in a circle, empty pages without end, ...), so shieldlog stopped the scan. The stream waits and begins a new scan.',
    count({ guard }, metrics) {
      metrics.count('scans_guarded_total', { guard })
    },
    report({ stream, guard, pages }, about) {
      const account = about.accountOf(stream.zone)
      return {
        group: `${guard} ${account}`,
        member: streamKey(stream),
        message: `${about.stream(stream)}: stopped the scan of ${stream.day} after ${countPhrase(pages, 'page')} because the listing does not end: ${guard}`,
        about: `account ${account}: incomplete scans (${guard})`,
        fields: { guard, account },
        hasEnd: true,
        // A guarded stream backs off up to an hour.
        fadesAfterMs: 2 * 3_600_000,
      }
    },
  },
  CursorExpired: {
    level: 'warn',
    meaning:
      'The API refused a cursor during a scan, so a full scan begins. A stored cursor that expires between scans is normal (level debug).',
    report({ stream, stored, restarts }, about) {
      if (stored) return undefined
      const account = about.accountOf(stream.zone)
      return {
        group: account,
        message: `${about.stream(stream)}: a cursor expired during a scan; a full scan begins (restart ${restarts} in a row)`,
        about: `account ${account}: scans restarted by expired cursors`,
        fields: { account },
      }
    },
    line: ({ stream }, about) => ({
      level: 'debug',
      message: `${about.stream(stream)}: a stored cursor has expired`,
    }),
  },
  OrderingChanged: {
    level: 'info',
    meaning:
      'Scans confirmed where the listing shows new events, so polls read only there (level debug); or a poll missed events, so every poll reads the whole day again (level info).',
    report({ stream, from, to, why }, about) {
      if (to !== 'unknown') return undefined
      const account = about.accountOf(stream.zone)
      return {
        group: account,
        message: `${about.stream(stream)}: revoked the ordering ${from}, so polls read the whole day: ${why}`,
        about: `account ${account}: revoked orderings`,
        fields: { account },
      }
    },
    line: ({ stream, to, why }, about) => ({
      level: 'debug',
      message: `${about.stream(stream)}: confirmed the ordering ${to}: ${why}`,
    }),
  },
  StreamFailed: {
    level: 'error',
    meaning:
      'A pump failed. The checkpoint keeps its position, and the stream is tried again. Level warn: it may recover without help; level error: a person must act. Streams that fail for the same reason share one line.',
    count({ stream: { sink }, failure }, metrics) {
      metrics.count('stream_failures_total', { sink, code: failure.code })
    },
    ends({ stream, failure }, conditions, about) {
      if (isToldElsewhere(stream, failure, about)) conditions.leave('StreamFailed', streamKey(stream))
    },
    report({ stream, priority, failure, retryAtMs, count }, about) {
      if (isToldElsewhere(stream, failure, about)) return undefined
      const { code, kind, details } = failure
      const origin = originOf(stream, code, about.accountOf(stream.zone))
      const waitMs = Math.max(0, retryAtMs - about.nowMs)
      return {
        group: `${code} ${origin.group}`,
        level: levelOf(failure),
        member: streamKey(stream),
        message: failureText(stream, failure, retryAtMs, about),
        about: `${origin.phrase}: ${reasonPhrases[code]}`,
        fields: { code, kind, ...origin.fields },
        details: {
          ...stream,
          priority,
          retryAt: instantPhrase(retryAtMs),
          failures: count,
          cause: causeOf(failure),
          errorKey: details.errorKey,
          requestId: details.requestId,
        },
        hasEnd: true,
        fadesAfterMs: Number.isFinite(waitMs) ? waitMs + graceMs : graceMs,
      }
    },
    line: ({ stream, failure, retryAtMs, count }, about) => ({
      level: 'debug',
      message: failureText(stream, failure, retryAtMs, about),
      fields: { ...stream, code: failure.code, count },
    }),
  },
  StreamRecovered: {
    level: 'debug',
    meaning:
      'A pump succeeded after failures. When the last stream has recovered, a line reports the end of the failure.',
    ends({ stream }, conditions) {
      conditions.leave('StreamFailed', streamKey(stream))
    },
    line: ({ stream, failures, seconds }, about) =>
      `${about.stream(stream)}: recovered after ${countPhrase(failures, 'failure')} in ${durationPhrase(seconds * 1000)}`,
  },
}

/** True for a failure that another internal event reports, or that is no error of this process. */
function isToldElsewhere({ zone }: Stream, { kind, code }: Failure, about: About): boolean {
  if (kind === 'cancelled' || code === 'scan_guarded') return true
  return code === 'throttled' && about.isThrottled(about.accountOf(zone))
}

function failureText(stream: Stream, { message }: Failure, retryAtMs: number, about: About): string {
  const waitMs = Math.max(0, retryAtMs - about.nowMs)
  const next = Number.isFinite(waitMs) ? `; next try in ${durationPhrase(waitMs)}` : ''
  return `${about.stream(stream)}: ${withoutSink(message, stream.sink)}${next}`
}

interface Origin {
  readonly group: string
  readonly phrase: string
  readonly fields: Fields
}

function originOf(stream: Stream, code: FailureCode, account: string): Origin {
  const { sink } = stream
  const side = sides[code]
  if (side === 'account')
    return { group: `account ${account}`, phrase: `account ${account}`, fields: { account } }
  if (side === 'sink') return { group: `sink ${sink}`, phrase: `sink ${sink}`, fields: { sink } }
  if (side === 'store') return { group: 'store', phrase: 'store', fields: {} }
  return {
    group: `account ${account} sink ${sink}`,
    phrase: `account ${account} → ${sink}`,
    fields: { account, sink },
  }
}

/** The system's error code of the cause, such as ECONNREFUSED; its message may hold anything. */
function causeOf(failure: Failure): string | undefined {
  const { cause } = failure
  if (!(cause instanceof Error) || !('code' in cause)) return undefined
  return typeof cause.code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(cause.code) ? cause.code : undefined
}

function levelOf({ kind, code }: Failure): LineLevel {
  if (kind === 'stop' || kind === 'refuse') return 'error'
  // Waiting for the predecessor is normal in a takeover.
  return code === 'held' ? 'info' : 'warn'
}

type Side = 'account' | 'sink' | 'store' | 'either'

/** The side that causes a failure, shared by many streams. A network error may be on either side. */
const sides: Readonly<Record<FailureCode, Side>> = {
  window_closed: 'account',
  cursor_expired: 'account',
  scan_guarded: 'account',
  unauthorised: 'account',
  zone_gone: 'account',
  page_too_large: 'account',
  bad_body: 'either',
  rejected: 'either',
  throttled: 'either',
  timeout: 'either',
  network: 'either',
  tls: 'either',
  server_error: 'either',
  sink_refuses: 'sink',
  sink_gone: 'sink',
  disk_full: 'sink',
  unwritable: 'sink',
  store_unavailable: 'store',
  store_refuses: 'store',
  no_store: 'store',
  fence_lost: 'store',
  held: 'store',
  index_dropped: 'store',
  dead_letters_full: 'sink',
  crashed: 'either',
  gave_way: 'account',
  cancelled: 'store',
}
