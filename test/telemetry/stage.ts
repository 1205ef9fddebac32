import type { Day } from '../../src/domain/day.ts'
import { Failure, type FailureCode, type FailureKind } from '../../src/domain/failure.ts'
import type { Observation } from '../../src/domain/observation.ts'
import type { Zone } from '../../src/domain/stream.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { createLogger, type LogLevel } from '../../src/telemetry/logger.ts'
import { createMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { keepLog } from './log-lines.ts'

export const day = '2026-11-20' as Day
export const minute = 60_000
export const priority = 'live' as const

export function setUp(level: LogLevel = 'info', zoneCount = 5) {
  const clock = createFakeClock()
  const log = keepLog()
  const metrics = createMetrics({ version: '1.2.3', clock })
  const zones = Array.from({ length: zoneCount }, (_, index) => ({
    id: 101 + index,
    name: index === 0 ? 'shop' : String(101 + index),
    account: index < 400 ? 'default' : 'second',
  }))
  const known = { zones, sinks: ['archive', 'siem'], accounts: ['default', 'second'], places: ['ops'] }
  metrics.prepare(known)
  const logger = createLogger({ level, format: 'json', stream: log })
  const telemetry = createTelemetry(logger, metrics, clock)
  /** Something that happens all the time and drives what is due. */
  const tick = () =>
    telemetry.emit({ name: 'PageFetched', stream: streamOf(101), priority, events: 0, bytes: 0 })
  return {
    clock,
    log,
    metrics,
    telemetry,
    known,
    tick,
    /** Lines of conditions: the phase and the text. */
    said: () => log.lines().map(({ phase, msg }) => `${String(phase)} ${String(msg)}`),
    phases: () => log.lines().map(({ event, phase }) => `${String(event)} ${String(phase)}`),
    emit: (internalEvent: InternalEvent) => telemetry.emit(internalEvent),
  }
}

export const loadCommitted = {
  name: 'LoadCommitted',
  priority,
  pages: 1,
  delivered: 6,
  duplicates: 3,
  late: 2,
  filtered: 3,
  deadLettered: 1,
  delaysSeconds: [0.5, 4, -20, Number.NaN, 400],
  commitSeconds: 0.002,
} as const

export function streamOf(zone: number, sink = 'archive') {
  return { zone, day, sink }
}

export function failed(
  zone: number,
  more: {
    code?: FailureCode
    kind?: FailureKind
    sink?: string
    message?: string
    retryAtMs?: number
  } = {},
): InternalEvent {
  const { code = 'timeout', kind = 'retry', sink, message = 'no answer within 30 s', retryAtMs = 0 } = more
  const failure = new Failure(kind, code, message)
  return { name: 'StreamFailed', stream: streamOf(zone, sink), priority, failure, retryAtMs, failures: 1 }
}

export function recovered(zone: number, sink = 'archive'): InternalEvent {
  return { name: 'StreamRecovered', stream: streamOf(zone, sink), failures: 3, seconds: 90 }
}

export const shop: Zone = { id: 101, name: 'shop', account: 'default' }
export const blog: Zone = { id: 102, name: 'blog', account: 'default' }
export const known = {
  zones: [shop, blog],
  sinks: ['archive', 'siem'],
  accounts: ['default'],
  places: ['ops'],
}
export const stream = { zone: 101, day, sink: 'siem' }

/** With the two zones. */
export function setUpMetrics() {
  const stage = setUp('silent')
  stage.metrics.prepare(known)
  return stage
}

export function observationOf(zones: readonly Zone[], sinks: readonly string[], lagSeconds = 5): Observation {
  const caughtUpAtMs = 1_800_000_000_500
  const route = { time: { nowMs: caughtUpAtMs + lagSeconds * 1000 }, caughtUpAtMs }
  const gap = { zone: 101, sink: 'siem' }
  return {
    settings: { zones, sinks, policy: { everyMs: 30_000 } },
    routes: zones.flatMap(({ id }) =>
      sinks.map((sink) => ({ ...route, summary: { zone: id, sink, timeToLossSeconds: 90_000 } })),
    ),
    gaps: [gap, gap, { ...gap, acknowledgedAt: 1 }, { zone: 77, sink: 'retired' }],
    streams: { open: 4, settling: 3, complete: 2, expired: 1 },
    refusedAccounts: [],
    deadLetters: ['siem', 'retired', 'siem'].map((sink) => ({ sink, count: 7 })),
    queues: [{ sink: 'siem', priority: 'live', state: 'waiting', jobs: 9 }],
  } as unknown as Observation
}
