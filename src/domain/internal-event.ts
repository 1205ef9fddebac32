import type { Day } from './day.ts'
import type { RefusalReason, SkipReason } from './event/delivery.ts'
import type { Unexpected } from './event/unexpected.ts'
import type { Failure } from './failure.ts'
import type { ReachedLimit } from './retention.ts'
import type { Guard, ScanKind } from './scan/scan.ts'
import type { Gap, Priority, Stream } from './stream.ts'
import type { FoundZone } from './zone-list.ts'

export const requestOutcomes = [
  'ok',
  'throttled',
  'rejected',
  'unauthorised',
  'timeout',
  'network',
  'server_error',
  'bad_body',
] as const
export type RequestOutcome = (typeof requestOutcomes)[number]

/** API operations as metrics name them. */
export const operations = ['event_logs', 'rate_limit', 'upload_scanning', 'volumes', 'shield_zones'] as const
export type Operation = (typeof operations)[number]

export type UpkeepTask =
  'heartbeat' | 'housekeeping' | 'reconciliation' | 'retention' | 'figures' | 'discovery' | 'notices'

/** Gauges of figures that the API gives besides event logs, without the prefix of metrics. */
export const figureMetrics = [
  'upload_scanning_files_scanned',
  'upload_scanning_requests',
  'volume_size_bytes',
  'volume_usage_bytes',
  'volume_fullest_ratio',
] as const

/** One value. What the API leaves out has none, never 0. */
export interface Figure {
  readonly metric: (typeof figureMetrics)[number]
  /** Besides the zone or the application. */
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** Whose figures: one zone's upload scanning, or the volumes of one application. */
export type FiguresOf = { readonly zone: number } | { readonly app: string }

/** What happened, by name. Only telemetry turns it into log lines and metrics; no other code logs or counts. */
export type InternalEvent =
  | { name: 'ApiAnswered'; account: string; operation: Operation; outcome: RequestOutcome; seconds: number }
  | { name: 'ApiThrottled'; account: string; untilMs: number }
  | { name: 'ClockSkewMeasured'; account: string; offsetMs: number }
  /** `by`: what the answer says of who gave it; empty where it says nothing. */
  | { name: 'AnswerCached'; zone: number; ageMs: number; by: string }
  | { name: 'PageFetched'; stream: Stream; priority: Priority; events: number; bytes: number }
  /** `page`: which one, for people; `at`: the byte of the first thing that was repaired. */
  | { name: 'PageRepaired'; zone: number; day: Day; page: string; at: number }
  | {
      name: 'LoadCommitted'
      stream: Stream
      priority: Priority
      /** Fewer than were read where a delivery failed in part, or the sink keeps events back. */
      pages: number
      delivered: number
      duplicates: number
      filtered: number
      late: number
      deadLettered: number
      /** Of those delivered, events that the destination says it dropped; absent if none. */
      lost?: number
      /** Delivery instant minus event time, in seconds, one value per event with a time. */
      delaysSeconds: readonly number[]
      commitSeconds: number
    }
  | { name: 'EventDeadLettered'; stream: Stream; id: string; reason: RefusalReason; answer: string }
  | { name: 'EventsSkipped'; stream: Stream; reason: SkipReason; count: number; answer: string }
  | { name: 'SinkAnswered'; sink: string; outcome: RequestOutcome; seconds: number; bytes: number }
  /** A destination acknowledged a request, but for this many events of it. */
  | { name: 'EventsLost'; zone: number; sink: string; count: number; answer: string }
  | { name: 'ObjectWritten'; sink: string }
  /** An earlier try had written the object of this number: its events count as delivered. */
  | { name: 'ObjectAdopted'; sink: string; key: string }
  /** Of the second such object in a row: a process that dies leaves one. */
  | { name: 'StateBehind'; sink: string; key: string }
  | { name: 'SinkHeld'; sink: string; why: string }
  | { name: 'SinkReleased'; sink: string }
  | { name: 'ScanCompleted'; stream: Stream; kind: ScanKind; pages: number; found: number; seconds: number }
  | { name: 'ScanGuarded'; stream: Stream; guard: Guard; why: string }
  | { name: 'CursorExpired'; stream: Stream; stored: boolean; restarts: number }
  | { name: 'OrderingChanged'; stream: Stream; from: string; to: string; why: string }
  | {
      name: 'StreamFailed'
      stream: Stream
      priority: Priority
      failure: Failure
      retryAtMs: number
      /** In a row. */
      failures: number
    }
  | { name: 'StreamRecovered'; stream: Stream; failures: number; seconds: number }
  | { name: 'StreamEnded'; stream: Stream; as: 'complete' | 'expired' }
  | { name: 'GapFound'; gap: Gap }
  | { name: 'GapClosed'; gap: Gap }
  | { name: 'EntriesUnexpected'; stream: Stream; found: Unexpected }
  /** After those: events have come for an hour that are all as expected. */
  | { name: 'EntriesAsExpected'; stream: Stream }
  | { name: 'IdSeenWithOtherTime'; stream: Stream; id: string }
  /** `time` is the one that is listed now. */
  | { name: 'TimesChangedPrecision'; stream: Stream; id: string; time: string }
  /** `id` is the own id of one of the events. */
  | { name: 'IdSharedByEvents'; stream: Stream; id: string }
  | { name: 'FileCut'; sink: string; part: string; bytes: number; keptAside: boolean }
  | { name: 'FileShort'; sink: string; part: string; expected: number; found: number }
  | { name: 'FileReplaced'; sink: string; part: string; why: string }
  | { name: 'PartCompressed'; sink: string; part: string; bytes: number; compressedBytes: number }
  | { name: 'CompressionFailed'; sink: string; part?: string; error: unknown }
  | { name: 'PartsOfAnotherStore'; sink: string; why: string }
  | { name: 'DayRemoved'; stream: Stream; limit: ReachedLimit; bytes: number }
  /** The sink's days that may be removed are removed, and the others take more than `maxBytes`. */
  | { name: 'RetentionExceeded'; sink: string; excessBytes: number }
  | { name: 'DaysSkipped'; zone: number; sink: string; from: Day; to: Day }
  | { name: 'TickFailed'; error: unknown }
  | { name: 'PumpFailed'; stream: Stream; error: unknown }
  | { name: 'UpkeepFailed'; task: UpkeepTask; error: unknown }
  | { name: 'QueueFailed'; error: unknown }
  | { name: 'QueueRecovered' }
  | { name: 'FiguresRead'; of: FiguresOf; account: string; figures: readonly Figure[]; atMs: number }
  /** `neverRead`: this process has no figures of it. */
  | { name: 'FiguresFailed'; of: FiguresOf; account: string; failure: Failure; neverRead: boolean }
  | { name: 'FiguresHandedOver' }
  | { name: 'NoticeSent'; place: string }
  | { name: 'NoticeFailed'; place: string; failure: Failure }
  | { name: 'HeartbeatFailed'; failure: Failure }
  | { name: 'HeartbeatSent' }
  | {
      name: 'Started'
      version: string
      zones: number
      sinks: readonly string[]
      /** Of these, sinks to which nothing may be shipped. */
      held: readonly string[]
      state: string
      newDays?: number
      /** Where no process has used the state for long. */
      idleMs?: number | undefined
    }
  | { name: 'Stopping'; signal: string }
  | { name: 'Stopped' }
  /** The process ends, and not because it was asked to. */
  | { name: 'RunFailed'; failure: Failure }
  | { name: 'ServerListening'; address: string }
  | { name: 'ConfigReloaded'; changed: readonly string[]; needsRestart: readonly string[] }
  | { name: 'ConfigRefused'; errors: readonly string[] }
  | { name: 'ZonesListed'; account: string; zones: number }
  | { name: 'ZonesFound'; account: string; zones: readonly FoundZone[] }
  | { name: 'ZonesLeft'; account: string; zones: readonly FoundZone[] }
  | { name: 'ZonesRetired'; account: string; zones: readonly FoundZone[]; gaps: number }
  /** `known`: how many zones of an earlier listing are shipped; undefined where there is none. */
  | { name: 'ZoneListingFailed'; account: string; failure: Failure; known: number | undefined }
  | { name: 'Warned'; about: string; text: string }
