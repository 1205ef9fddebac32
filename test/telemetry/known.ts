import type { Day } from '../../src/domain/day.ts'
import type { StateSnapshot } from '../../src/domain/plan/snapshot.ts'
import type { Zone } from '../../src/domain/stream.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

export const shop: Zone = { id: 101, name: 'shop', account: 'default' }
export const blog: Zone = { id: 102, name: 'blog', account: 'default' }
export const known = { zones: [shop, blog], sinks: ['archive', 'siem'], accounts: ['default'] }
export const day = '2026-11-20' as Day
export const stream = { zone: 101, day, sink: 'siem' }

export function setUpMetrics() {
  const clock = createFakeClock()
  const metrics = createMetrics({ version: '1.2.3', clock })
  const logger = createLogger({ level: 'silent', format: 'json', stream: { write: () => undefined } })
  const telemetry = createTelemetry({ logger, metrics, clock })
  return { clock, metrics, telemetry }
}

export function snapshotOf(zones: readonly Zone[], sinks: readonly string[], lagSeconds = 5): StateSnapshot {
  const routes = zones.flatMap(({ id }) =>
    sinks.map((sink) => ({
      zone: id,
      sink,
      lagSeconds,
      caughtUpAtMs: 1_800_000_000_500,
      newestMs: undefined,
      timeToLossSeconds: 90_000,
      delivered: 30,
      gaps: 2,
    })),
  )
  return {
    routes,
    leftGaps: [],
    streams: { open: 4, settling: 3, complete: 2, expired: 1 },
    refusedAccounts: [],
    deadLetters: [{ sink: 'siem', count: 7 }],
    queues: [{ priority: 'live', state: 'waiting', jobs: 9 }],
  }
}
