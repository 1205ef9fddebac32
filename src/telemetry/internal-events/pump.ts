import { streamKey } from '../../domain/stream.ts'
import type { Definitions } from '../definition.ts'
import { countPhrase, instantPhrase } from '../phrases.ts'

export const pumpInternalEvents: Definitions<
  | 'PageFetched'
  | 'PageCommitted'
  | 'EventDeadLettered'
  | 'StreamEnded'
  | 'GapFound'
  | 'DaysSkipped'
  | 'IdSeenWithOtherTime'
> = {
  PageFetched: {
    level: 'debug',
    meaning: 'A page of a stream was read.',
    count({ stream, events }, metrics) {
      const zone = String(stream.zone)
      metrics.count('eventsFetched', { zone }, events)
      metrics.count('pagesFetched', { zone, sink: stream.sink })
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
    meaning: 'A page was delivered and its progress is durable.',
    count(internalEvent, metrics) {
      const { stream, priority } = internalEvent
      const { sink } = stream
      const route = { zone: String(stream.zone), sink }
      metrics.count('eventsDelivered', route, internalEvent.delivered)
      metrics.count('eventsDuplicate', route, internalEvent.duplicates)
      metrics.count('eventsLate', route, internalEvent.late)
      metrics.count('commitDuration', {}, internalEvent.commitSeconds)
      const delayLabels = { sink, priority: priority }
      for (const delay of internalEvent.delaysSeconds) metrics.count('eventDelay', delayLabels, delay)
    },
    tell({ stream, priority, delivered, duplicates, late, deadLettered, commitSeconds }, voice) {
      voice.detail(() => [
        `${voice.stream(stream)}: delivered ${countPhrase(delivered, 'event')}`,
        { ...stream, priority, delivered, duplicates, late, deadLettered, commitSeconds },
      ])
    },
  },
  EventDeadLettered: {
    level: 'warn',
    meaning:
      'The sink will never take this event. It is a dead letter: `dead-letters show` prints it, `replay` or `drop` ends it.',
    count({ stream, reason }, metrics) {
      metrics.count('eventsDeadLettered', { sink: stream.sink, reason })
    },
    tell({ stream, id, reason, answer }, voice) {
      voice.report({
        group: `${stream.sink} ${reason}`,
        level: 'warn',
        zone: stream.zone,
        sink: stream.sink,
        message: `${voice.stream(stream)}: an event is a dead letter (${reason}): ${answer.slice(0, 300)}`,
        about: `sink ${stream.sink}: dead letters (${reason})`,
        fields: { sink: stream.sink, reason },
        details: { zone: stream.zone, day: stream.day, id },
      })
    },
  },
  StreamEnded: {
    level: 'debug',
    meaning: 'The last scan of a past day is done (complete), or the day can no longer be read (expired).',
    tell({ stream, as }, voice) {
      voice.conditions.leave('StreamFailed', streamKey(stream))
      voice.conditions.leave('ScanGuarded', streamKey(stream))
      voice.detail(() => [`${voice.stream(stream)}: ${stream.day} is ${as}`, { ...stream, as }])
    },
  },
  GapFound: {
    level: 'error',
    meaning:
      'Events of this zone and sink can no longer be read from the API: they are lost to the sink. `status` lists every gap.',
    count({ gap }, metrics) {
      metrics.count('gapsRecorded', { zone: String(gap.zone), sink: gap.sink, reason: gap.reason })
    },
    tell({ gap }, voice) {
      const { zone, sink, day, reason } = gap
      voice.report({
        group: `${sink} ${reason}`,
        level: 'error',
        zone,
        sink,
        message: `${voice.stream(gap)}: events of ${day} can no longer be read (${reason}); \`status\` lists all gaps`,
        about: `sink ${sink}: gaps (${reason})`,
        fields: { sink, reason },
        details: { zone, day, from: instantPhrase(gap.from), to: instantPhrase(gap.to) },
      })
    },
  },
  DaysSkipped: {
    level: 'warn',
    meaning:
      'A zone and sink that were never seen before start later than the API could be read, because poll.firstRunDays is smaller than poll.readableDays.',
    tell({ zone, sink, from, to }, voice) {
      voice.report({
        group: `${sink} ${from} ${to}`,
        level: 'warn',
        zone,
        sink,
        message: `${voice.zone(zone)} → ${sink}: ${from === to ? from : `${from} to ${to}`} will not be read (poll.firstRunDays); \`backfill\` reads it while the API keeps it`,
        about: `sink ${sink}: days skipped at the first run, ${from} to ${to}`,
        fields: { sink, from, to },
        details: { zone },
      })
    },
  },
  IdSeenWithOtherTime: {
    level: 'warn',
    meaning:
      'The API gave one log id to two events with different times. Both were delivered; an id alone does not name an event there. Said once.',
    tell({ stream, id }, voice) {
      voice.report({
        group: 'all',
        level: 'warn',
        zone: stream.zone,
        message: `${voice.stream(stream)}: the API used one log id for events of different times; both are delivered, further ones are only counted`,
        about: 'log ids used twice with different times',
        details: { ...stream, id },
        fadesAfterMs: Number.POSITIVE_INFINITY,
        once: true,
      })
    },
  },
}
