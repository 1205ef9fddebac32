import { streamKey } from '../../domain/stream.ts'
import type { Definitions } from '../definition.ts'
import { countPhrase, instantPhrase } from '../phrases.ts'

/** By default no day is read for longer. */
const readableMs = 5 * 86_400_000

export const pumpInternalEvents: Definitions<
  | 'PageFetched'
  | 'PageCommitted'
  | 'EventDeadLettered'
  | 'EventsSkipped'
  | 'StreamEnded'
  | 'GapFound'
  | 'DaysSkipped'
  | 'IdSeenWithOtherTime'
  | 'IdSharedByEvents'
> = {
  PageFetched: {
    level: 'debug',
    meaning: 'A page of a stream was read.',
    count({ stream, events }, metrics) {
      const zone = String(stream.zone)
      metrics.count('events_fetched_total', { zone }, events)
      metrics.count('pages_fetched_total', { zone, sink: stream.sink })
    },
    tell({ stream, priority, events, bytes }, voice) {
      voice.detail(() => [
        `${voice.stream(stream)}: read ${countPhrase(events, 'event')}`,
        { ...stream, priority, events, bytes },
      ])
    },
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
    tell({ stream, priority, delivered, duplicates, late, filtered, deadLettered, commitSeconds }, voice) {
      voice.detail(() => [
        `${voice.stream(stream)}: delivered ${countPhrase(delivered, 'event')}`,
        { ...stream, priority, delivered, duplicates, late, filtered, deadLettered, commitSeconds },
      ])
    },
  },
  EventDeadLettered: {
    level: 'warn',
    meaning:
      'The sink never accepts this event, so it became a dead letter. `dead-letters show` prints it; `dead-letters replay` or `drop` removes it.',
    count({ stream, reason }, metrics) {
      metrics.count('events_dead_lettered_total', { sink: stream.sink, reason })
    },
    tell({ stream, id, reason, answer }, voice) {
      voice.report({
        group: `${stream.sink} ${reason}`,
        level: 'warn',
        zone: stream.zone,
        sink: stream.sink,
        message: `${voice.stream(stream)}: an event became a dead letter (${reason}): ${answer.slice(0, 300)}`,
        about: `sink ${stream.sink}: dead letters (${reason})`,
        fields: { sink: stream.sink, reason },
        details: { zone: stream.zone, day: stream.day, id },
      })
    },
  },
  EventsSkipped: {
    level: 'warn',
    meaning:
      'The destination takes no events of that age. They are counted as skipped (`status --json`, `audit`), and are no dead letters, since a replay would not help. With a first start, `poll.firstRunDays` says how many days are read.',
    count({ stream, reason, count }, metrics) {
      metrics.count('events_skipped_total', { zone: String(stream.zone), sink: stream.sink, reason }, count)
    },
    tell({ stream, reason, count, answer }, voice) {
      voice.report({
        group: `${stream.sink} ${reason}`,
        level: 'warn',
        zone: stream.zone,
        sink: stream.sink,
        message: `${voice.stream(stream)}: skipped ${countPhrase(count, 'event')} of ${stream.day} (${reason}): ${answer.slice(0, 300)}`,
        about: `sink ${stream.sink}: events skipped (${reason})`,
        fields: { sink: stream.sink, reason },
        details: { zone: stream.zone, day: stream.day, count },
      })
    },
  },
  StreamEnded: {
    level: 'debug',
    meaning:
      'The last scan of a past day is done (complete), or the API no longer answers for the day (expired).',
    tell({ stream, as }, voice) {
      voice.conditions.leave('StreamFailed', streamKey(stream))
      voice.conditions.leave('ScanGuarded', streamKey(stream))
      voice.detail(() => [`${voice.stream(stream)}: ${stream.day} is ${as}`, { ...stream, as }])
    },
  },
  GapFound: {
    level: 'error',
    meaning:
      'The API no longer answers for events of this zone: this sink has lost them. `gaps list` shows every gap, and `gaps acknowledge` ends the alarm.',
    count({ gap }, metrics) {
      metrics.count('gaps_recorded_total', { zone: String(gap.zone), sink: gap.sink, reason: gap.reason })
    },
    tell({ gap }, voice) {
      const { zone, sink, day, reason } = gap
      voice.report({
        group: `${sink} ${reason}`,
        level: 'error',
        zone,
        sink,
        message: `${voice.stream(gap)}: lost events of ${day}, which the API no longer answers for (${reason}); \`gaps list\` shows all gaps`,
        about: `sink ${sink}: gaps (${reason})`,
        fields: { sink, reason },
        details: { zone, day, from: instantPhrase(gap.from), to: instantPhrase(gap.to) },
      })
    },
  },
  DaysSkipped: {
    level: 'warn',
    meaning:
      'A new zone or sink begins later than the API allows, because poll.firstRunDays is less than poll.readableDays.',
    tell({ zone, sink, from, to }, voice) {
      voice.report({
        group: `${sink} ${from} ${to}`,
        level: 'warn',
        zone,
        sink,
        message: `${voice.zone(zone)} → ${sink}: ${from === to ? from : `${from} to ${to}`} is not read because of poll.firstRunDays; \`backfill\` can read it while the API keeps it`,
        about: `sink ${sink}: days skipped at the first run, ${from} to ${to}`,
        fields: { sink, from, to },
        details: { zone },
      })
    },
  },
  IdSeenWithOtherTime: {
    level: 'warn',
    meaning:
      'The API gave two events with different times the same log id. Both were delivered. Deduplicate by id and time. Logged once.',
    tell({ stream, id }, voice) {
      voice.report({
        group: 'all',
        level: 'warn',
        zone: stream.zone,
        message: `${voice.stream(stream)}: the API gave events with different times the same log id; shieldlog delivers both and does not report further ones`,
        about: 'log ids used twice with different times',
        details: { ...stream, id },
        fadesAfterMs: Number.POSITIVE_INFINITY,
        once: true,
      })
    },
  },
  IdSharedByEvents: {
    level: 'warn',
    meaning:
      'The API gave two events with the same log id and time, but other content. Both were delivered, each with an id of its own: the log id, `~` and a hash of the entry. Logged once for a zone and day.',
    tell({ stream, id }, voice) {
      voice.report({
        group: `${stream.zone} ${stream.day}`,
        level: 'warn',
        zone: stream.zone,
        message: `${voice.zone(stream.zone)} ${stream.day}: the API gave events with other content the same log id and time; shieldlog delivers each with an id of its own and does not report further ones of this day`,
        about: `log ids used twice at the same time, ${stream.zone} ${stream.day}`,
        details: { ...stream, id },
        fadesAfterMs: readableMs,
        once: true,
      })
    },
  },
}
