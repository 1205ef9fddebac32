import { messageOf, withoutSink, type Failure, type FailureCode } from '../domain/failure.ts'
import {
  figureMetrics,
  requestOutcomes,
  type FiguresOf,
  type InternalEvent,
} from '../domain/internal-event.ts'
import { idleText } from '../domain/problem.ts'
import { unexpectedText } from '../domain/event/unexpected.ts'
import { removedText } from '../domain/retention.ts'
import type { Stream } from '../domain/stream.ts'
import { counted, countOf, firstOf, zoneText } from '../domain/text/terminal-text.ts'
import { durationText } from '../domain/text/time.ts'
import type { FoundZone } from '../domain/zone-list.ts'
import type { Fields, LineLevel } from './logger.ts'
import type { CountedMetric, Labels, Metrics } from './metrics/metrics.ts'

export interface Definition<Event extends InternalEvent> {
  /** Level of its line; the highest where it varies. */
  readonly level: LineLevel
  /** For the reference: what the event means to an operator. */
  readonly meaning: string
  /** What it adds to counters and histograms: 1, or a field of the event. The event's facts give the labels. */
  readonly counts?: Readonly<Partial<Record<CountedMetric, 1 | keyof Event>>>
  /** Labels that no fact of the event has. */
  readonly labels?: Labels | ((event: Event) => Labels)
  /** What it sets, and what it counts by labels of its own. */
  measure?(event: Event, metrics: Pick<Metrics, 'measure' | 'count'>): void
  /** The conditions that it ends for what it is about: a stream, a zone, an account; else all of them. */
  readonly ends?: readonly InternalEvent['name'][]
  /** What happened, without what it is about, which begins the line. An event without a text has no line. */
  text?(event: Event, now: Now): string
  /** Where it varies. An event of level debug begins no condition, and ends the one of its kind. */
  levelOf?(event: Event, now: Now): LineLevel
  /** Fields of the line, where they are not all facts of the event. */
  fields?(event: Event): Fields
  /** Where the event may last or be repeated. */
  readonly condition?: Condition<Event>
}

/** How events are condensed into the few lines of a condition. */
export interface Condition<Event> {
  /** The facts that the events of one condition have in common. */
  readonly by: readonly string[] | ((event: Event) => readonly string[])
  /** Some other event ends it. */
  readonly hasEnd?: boolean
  /** How long it lasts without a further event; default: ten minutes. Above a day only beginning and end are written. */
  readonly lastsMs?: number | ((event: Event, now: Now) => number)
}

export interface Now {
  /** ms since the epoch. */
  readonly nowMs: number
  /** Whether the API asked the stream's account for a pause. */
  isThrottled(stream: Stream): boolean
}

/** A larger offset would let a pump that used this host's clock read a day too early or too late. */
const skewWorthSayingMs = 30_000
/** A pause that follows another within this time continues the condition. */
const pauseGraceMs = 60_000
/** How long after its next try a stream may be silent before another worker is assumed to have it. */
const streamGraceMs = 900_000
/** Whoever fails to read figures is tried again within ten minutes. */
const figuresFadeAfterMs = 1_800_000
/** By default no day is read for longer. */
const longestReadMs = 5 * 86_400_000

/** Of what is met now and then: an hour more than a day, so that only its beginning and its end are written. */
const lastsADay = 25 * 3_600_000

const bySink = { by: ['sink'] }

/** Every internal event has a definition; the compiler reports a missing one. */
export const internalEvents: {
  readonly [Name in InternalEvent['name']]: Definition<Extract<InternalEvent, { name: Name }>>
} = {
  // The process, the API, and work outside a stream's checkpoint; a stack in a line means a bug.
  NoticeSent: {
    level: 'info',
    meaning: 'A place of `notify` was told of a problem, or of its end.',
    counts: { notifications_total: 1 },
    labels: ({ place }) => ({ name: place, outcome: 'ok' }),
    ends: ['NoticeFailed'],
  },
  NoticeFailed: {
    level: 'error',
    meaning: 'A place of `notify` did not take a message. It is tried again every 30 s.',
    counts: { notifications_total: 1 },
    labels: ({ place, failure: { code } }) => ({
      name: place,
      outcome: requestOutcomes.find((each) => each === code) ?? 'rejected',
    }),
    text: ({ failure }) => failure.message,
    condition: { by: ['place', 'code'], hasEnd: true },
  },
  HeartbeatFailed: {
    level: 'warn',
    meaning: 'The address of `heartbeat` could not be reached.',
    text: ({ failure }) => failure.message,
    condition: { by: ['code'], hasEnd: true },
  },
  HeartbeatSent: {
    level: 'debug',
    meaning: 'The address of `heartbeat` was reached.',
    ends: ['HeartbeatFailed'],
  },
  Started: {
    level: 'info',
    meaning: 'The process has started.',
    text: ({ version, zones, sinks, held, state, newDays, idleMs }) => {
      const open = sinks.filter((sink) => !held.includes(sink))
      const to = `${counted(zones, 'zone')} to ${open.join(', ')}`
      const isHeld = held.length === 0 ? '' : `; held: ${held.join(', ')}`
      const isNew =
        newDays === undefined || open.length === 0
          ? ''
          : `; the state is new: ships ${counted(newDays, 'day')} of ${to}`
      const isIdle = idleMs === undefined ? '' : `; ${idleText(idleMs)}`
      return `shieldlog ${version} ships ${open.length === 0 ? 'nothing' : to}${isHeld}; state in ${state}${isNew}${isIdle}`
    },
  },
  Stopping: {
    level: 'info',
    meaning:
      'A signal asked the process to stop. It finishes the deliveries in progress; a second signal ends it at once.',
    text: ({ signal }) => `stopping (${signal})`,
  },
  Stopped: {
    level: 'info',
    meaning: 'The process has stopped and closed everything. This is its last line.',
    text: () => 'stopped',
  },
  RunFailed: {
    level: 'error',
    meaning:
      'The process cannot start, or cannot go on, and ends with exit code 1. The message says why and what to do: another process uses the port of `server` or the state, the state cannot be opened, or who read standard output is gone. `shieldlog check` looks for all of that before a start.',
    text: ({ failure }) => failure.message,
  },
  ServerListening: {
    level: 'info',
    meaning: 'Metrics, health and status are served at this address.',
    text: ({ address }) => `serving metrics, health and status at ${address}`,
  },
  ConfigReloaded: {
    level: 'warn',
    meaning: 'The new configuration is in force. Level warn: a change needs a restart.',
    counts: { config_reloads_total: 1 },
    labels: { result: 'taken' },
    // They may be of zones and sinks that are no longer configured.
    ends: ['StreamFailed', 'ScanGuarded', 'FiguresFailed', 'ZoneListingFailed'],
    levelOf: ({ needsRestart }) => (needsRestart.length === 0 ? 'info' : 'warn'),
    text({ changed, needsRestart }) {
      const what = changed.length === 0 ? 'nothing changed' : `changed: ${changed.join(', ')}`
      const waits = needsRestart.length === 0 ? '' : `; needs a restart: ${needsRestart.join(', ')}`
      return `read the configuration again; ${what}${waits}`
    },
  },
  ConfigRefused: {
    level: 'error',
    meaning: 'The new configuration has errors, which the line lists. The old one stays in force.',
    counts: { config_reloads_total: 1 },
    labels: { result: 'refused' },
    text: ({ errors }) =>
      `the new configuration has ${counted(errors.length, 'error')}, the old one stays in force: ${errors.join('; ')}`,
  },
  Warned: {
    level: 'warn',
    meaning: 'A warning without a more specific event; `about` names the part of shieldlog.',
    text: ({ about, text }) => `${about}: ${text}`,
    condition: { by: ['about', 'text'] },
  },
  TickFailed: {
    level: 'error',
    meaning: 'The scheduler could not read which streams are due. It tries again after a second.',
    counts: { tick_failures_total: 1 },
    text: ({ error }) => `cannot look for streams that are due: ${messageOf(error)}`,
    condition: { by: ['code'] },
  },
  PumpFailed: {
    level: 'error',
    meaning:
      'Work on a stream failed, and the state could not record the failure. The stream is tried again after a few seconds.',
    text: ({ error }) => messageOf(error),
    condition: { by: ['code'] },
  },
  UpkeepFailed: {
    level: 'error',
    meaning:
      'A background task (heartbeat, housekeeping, reconciliation of the files with their committed lengths, removal of old days, figures for metrics, discovery of zones) failed. It is tried again.',
    text: ({ task, error }) => `${task} failed: ${messageOf(error)}`,
    condition: { by: ['task', 'code'] },
  },
  QueueFailed: {
    level: 'error',
    meaning: 'The queue in Redis failed. Streams continue from their checkpoints when Redis answers.',
    text: ({ error }) => `the queue stands still: ${messageOf(error)}`,
    condition: { by: ['code'], hasEnd: true },
  },
  QueueRecovered: {
    level: 'info',
    meaning: 'The queue has had no error for ten seconds: a line reports the end of each QueueFailed.',
    ends: ['QueueFailed'],
  },
  ApiAnswered: {
    level: 'debug',
    meaning: 'One request to the API ended. Each retry counts as a request.',
    counts: { api_requests_total: 1, api_request_duration_seconds: 'seconds' },
    text: ({ operation, outcome, seconds }) => `${operation} ${outcome} in ${Math.round(seconds * 1000)} ms`,
  },
  ApiThrottled: {
    level: 'warn',
    meaning:
      'The API asked for a pause (429). All streams of the account wait as long as it asked. If it happens often, set api.maxRequestsPerSecond.',
    counts: { api_throttled_total: 1 },
    text: ({ untilMs }, { nowMs }) =>
      `the API asks for a pause of ${durationText(msUntil(untilMs, nowMs) / 1000)} (429)`,
    condition: {
      by: ['account'],
      hasEnd: true,
      lastsMs: ({ untilMs }, { nowMs }) => msUntil(untilMs, nowMs) + pauseGraceMs,
    },
  },
  ClockSkewMeasured: {
    level: 'warn',
    meaning:
      "The clock of this host differs from the API's by more than 30 s. shieldlog uses the API's clock for days; correct the clock of this host.",
    levelOf: ({ offsetMs }) => (Math.abs(offsetMs) > skewWorthSayingMs ? 'warn' : 'debug'),
    measure({ account, offsetMs }, metrics) {
      metrics.measure('clock_skew_seconds', { account }, [{ labels: { account }, value: offsetMs / 1000 }])
    },
    text: ({ offsetMs }) =>
      `the clock of this host is ${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's; correct it`,
    condition: { by: ['account'], hasEnd: true, lastsMs: Infinity },
  },
  AnswerCached: {
    level: 'warn',
    meaning:
      'Something between shieldlog and the API answered from a cache, although requests ask for a fresh answer. Such an answer is no news: lag grows by its age, and its time does not count. Exclude the API from that cache.',
    text: ({ ageMs, by }) =>
      `an answer of the API is ${durationText(ageMs / 1000)} old: it came from a cache${by === '' ? '' : ` (${by})`}`,
    condition: { by: ['account'], hasEnd: true },
  },
  FiguresRead: {
    level: 'debug',
    meaning: 'Figures of upload scanning or volumes were read for the metrics.',
    measure({ of, figures, atMs }, metrics) {
      const labels = 'zone' in of ? { zone: String(of.zone) } : of
      for (const metric of figureMetrics) {
        const own = figures.filter((figure) => figure.metric === metric)
        const rows = own.map((figure) => ({ labels: { ...labels, ...figure.labels }, value: figure.value }))
        metrics.measure(metric, labels, rows)
      }
      metrics.measure(readTimeOf(of), labels, [{ labels, value: atMs / 1000 }])
    },
    ends: ['FiguresFailed'],
    text: ({ figures }) => `${counted(figures.length, 'figure')} read`,
    fields: ({ of, account }) => ({ ...of, account }),
  },
  FiguresFailed: {
    level: 'warn',
    meaning:
      'Figures for the metrics could not be read. The metrics keep the last values, and their timestamp shows the age; shieldlog tries again within ten minutes. Event logs are not affected.',
    // Without a series no alert could tell that an application does not exist, or that a key may not read it.
    measure({ of, neverRead }, metrics) {
      const labels = 'zone' in of ? { zone: String(of.zone) } : of
      if (neverRead) metrics.measure(readTimeOf(of), labels, [{ labels, value: 0 }])
    },
    text: ({ failure }) => `figures could not be read: ${messageOf(failure)}`,
    condition: { by: ['account', 'code'], hasEnd: true, lastsMs: figuresFadeAfterMs },
  },
  FiguresHandedOver: {
    level: 'info',
    meaning: 'Another process of the fleet now reads the figures; this one no longer exports them.',
    measure(_, metrics) {
      for (const metric of [...figureMetrics, ...readTimes]) metrics.measure(metric, {}, [])
    },
    text: () => 'another process reads the figures of upload scanning and volumes',
  },
  ZonesListed: {
    level: 'debug',
    meaning: 'With `zones: all`: the API listed the zones of an account.',
    ends: ['ZoneListingFailed'],
    text: ({ zones }) => `the API lists ${counted(zones, 'zone')}`,
  },
  ZonesFound: {
    level: 'info',
    meaning: 'With `zones: all`: the API lists new zones. They are shipped from now on.',
    text: ({ zones }) => `ships ${zonesText(zones)}, listed by the API`,
    fields: listedFields,
  },
  ZonesLeft: {
    level: 'warn',
    meaning:
      'With `zones: all`: the API no longer lists these zones. shieldlog reads them until the API no longer answers for their days.',
    text: ({ zones }) => `the API no longer lists ${zonesText(zones)}; what it still has is read`,
    fields: listedFields,
  },
  ZonesRetired: {
    level: 'warn',
    meaning:
      'With `zones: all`: shieldlog stops reading zones that the API no longer lists, because the API no longer knows them or has no events of them left. Days that were not read to their end become gaps (`zone_gone`).',
    text({ zones, gaps }) {
      const lost = gaps === 0 ? 'all events were read' : `${counted(gaps, 'gap')} recorded`
      return `stops reading ${zonesText(zones)}, which the API no longer lists; ${lost}`
    },
    fields: listedFields,
  },
  ZoneListingFailed: {
    level: 'error',
    meaning:
      'With `zones: all`: the zones of an account could not be listed. shieldlog ships the zones of the last list; without a list it ships nothing of this account (level error). It tries again every 30 s.',
    levelOf: ({ known }) => (known === undefined ? 'error' : 'warn'),
    text: ({ failure, known }) =>
      `${failure.message}; ${known === undefined ? 'nothing of this account is shipped' : `shieldlog ships the ${counted(known, 'zone')} of the last list`}`,
    condition: { by: ['account'], hasEnd: true },
  },
  // What becomes of streams, and of what sinks hold.
  PageFetched: {
    level: 'debug',
    meaning: 'A page of a stream was read.',
    counts: { events_fetched_total: 'events', pages_fetched_total: 1 },
    text: ({ events }) => `read ${counted(events, 'event')}`,
  },
  PageRepaired: {
    level: 'warn',
    meaning:
      'The API wrote a page that is no JSON: raw control characters, or backslashes that begin no escape, inside its strings. shieldlog read it all the same and keeps these characters. Logged when the first such page of a zone is read, and when none was for a day.',
    text: ({ page, at }) =>
      `${page} is invalid JSON at byte ${at}, inside a text: shieldlog reads it all the same, and ships its events`,
    condition: { by: ['zone'], hasEnd: true, lastsMs: lastsADay },
  },
  LoadCommitted: {
    level: 'debug',
    meaning: 'Consecutive pages of a scan were delivered and committed to the state.',
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
  GapClosed: {
    level: 'info',
    meaning:
      'A day with a gap was read whole after all, by a scan that began after the gap. It ends the alarm. Where the day was older than `poll.readableDays`, the API may have listed less than it had.',
    ends: ['GapFound'],
    text: ({ gap: { day, reason } }) => `${day} was read whole after all: its gap (${reason}) is closed`,
  },
  DaysSkipped: {
    level: 'warn',
    meaning: 'Days of a new zone or sink are not read, because of poll.firstRunDays.',
    text: ({ from, to }) =>
      `${from === to ? from : `${from} to ${to}`} is not read because of poll.firstRunDays; \`backfill\` can read it while the API keeps it`,
    condition: { by: ['sink', 'from', 'to'] },
  },
  EntriesUnexpected: {
    level: 'warn',
    meaning:
      'New entries of a zone are not as shieldlog knows them: members with names that it does not know, labels of another shape, no time that it can read, or a log without any known name. They are shipped with their whole content, but fields may be empty, so that `where` and rules of a SIEM miss them. The line has the names. Logged when it begins, and when it is over; `status` shows it meanwhile.',
    measure({ stream: { zone }, found: { counts } }, metrics) {
      for (const [kind, entries] of Object.entries(counts))
        metrics.count('entries_unexpected_total', { zone, kind }, entries)
    },
    text: ({ found }) => `the API lists entries with ${unexpectedText(found.names)}`,
    fields: ({ stream, found: { names, counts } }) => ({
      ...stream,
      ...counts,
      names: Object.values(names).flat(),
    }),
    condition: { by: ['zone'], hasEnd: true, lastsMs: lastsADay },
  },
  EntriesAsExpected: {
    level: 'debug',
    meaning: 'New entries have been as expected for an hour: a line reports the end of EntriesUnexpected.',
    ends: ['EntriesUnexpected'],
  },
  IdSeenWithOtherTime: {
    level: 'warn',
    meaning:
      'The API gave two events with different times the same log id. Both were delivered. Deduplicate by id and time. Logged once.',
    text: () => 'the API gave events with different times the same log id; shieldlog delivers both',
    condition: { by: [], lastsMs: Infinity },
  },
  TimesChangedPrecision: {
    level: 'warn',
    meaning:
      'The API lists events that were delivered before with times of fewer or more digits, such as whole seconds in place of milliseconds. They are other events then, and each that is listed so is delivered once more. Deduplicate by id. Logged once.',
    text: ({ time }) =>
      `the API lists events that were delivered before with times of other precision, such as ${time}; each that it lists so is delivered once more: deduplicate by id`,
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
      'The listing of the API did not end (cursors or pages in a circle, empty pages without end, ...), it ended with fewer events than it had listed before (`listing_shrank`), or a page came from a cache and was older than what was read before (`cached_page`). What was found is shipped, but the scan does not count: the stream waits and begins a new one.',
    counts: { scans_guarded_total: 1 },
    text: ({ stream, why }) => `the scan of ${stream.day} proves nothing, and another one follows: ${why}`,
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
      lastsMs: ({ retryAtMs }, { nowMs }) => msUntil(retryAtMs, nowMs) + streamGraceMs,
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
    condition: bySink,
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
    condition: bySink,
  },
  StateBehind: {
    level: 'warn',
    meaning:
      'A bucket has several objects of a day that the state does not know. A process that dies leaves one, so the state is older than what was shipped, as a restored copy is; or this sink was forgotten (`state forget-sink`). Events of the objects count as delivered. From an older state, other destinations get again what was shipped to them since.',
    text: ({ key }) =>
      `several objects, now ${key}, are unknown to the state: it is older than what was shipped, as a restored copy is; destinations without files or objects get again what they had since`,
    condition: { ...bySink, lastsMs: lastsADay },
  },
  FileCut: {
    level: 'info',
    meaning:
      'shieldlog cut a part back to its committed length. The events after that length are read again, or are in another part. Normal after a crash. A copy of what was cut is kept for two weeks.',
    counts: { part_repairs_total: 1 },
    labels: { repair: 'cut' },
    text: ({ part, bytes, keptAside }) =>
      `cut ${bytes} uncommitted bytes off ${part}${keptAside ? '; a copy is kept under .shieldlog/aside/' : ''}`,
    condition: bySink,
  },
  FileShort: {
    level: 'error',
    meaning:
      'A part is shorter than its committed length: another program or the disk lost data. Later events go to a new part. `audit --deep` finds what is missing; `audit --deep --repair` writes it again.',
    counts: { part_repairs_total: 1 },
    labels: { repair: 'short' },
    text: ({ part, expected, found }) =>
      `${part} has ${found} of ${expected} committed bytes: data was lost on disk; \`audit --deep --repair\` writes it again`,
    condition: bySink,
  },
  FileReplaced: {
    level: 'warn',
    meaning: 'Another program moved, removed or changed a part. Later events go to a new part.',
    counts: { part_repairs_total: 1 },
    labels: { repair: 'replaced' },
    text: ({ part, why }) => `later events of ${part} go to a new part: ${why}`,
    condition: bySink,
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
    condition: bySink,
  },
  PartsOfAnotherStore: {
    level: 'info',
    meaning:
      'The folder contains parts that another state or sink wrote: the state was lost or replaced. shieldlog does not change them and writes new parts; events may be in both.',
    text: ({ why }) => `leaves parts in its folder alone that it did not write: ${why}`,
    condition: bySink,
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
    condition: { ...bySink, lastsMs: 2 * 86_400_000 },
  },
}

const readTimes = ['upload_scanning_read_timestamp_seconds', 'volumes_read_timestamp_seconds'] as const

const readTimeOf = (of: FiguresOf) => ('zone' in of ? readTimes[0] : readTimes[1])

function msUntil(atMs: number, nowMs: number): number {
  return Number.isFinite(atMs) ? Math.max(0, atMs - nowMs) : 0
}

const mostNamed = 20

function zonesText(zones: readonly FoundZone[]): string {
  const names = zones.map(({ id, name }) => zoneText(id, name))
  return `${zones.length === 1 ? 'zone' : 'zones'} ${firstOf(names, mostNamed)}`
}

type Listed = Readonly<{ account: string; zones: readonly FoundZone[]; gaps?: number }>

function listedFields({ account, zones, gaps }: Listed) {
  return { account, zones: zones.map(({ id }) => id), gaps }
}

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
