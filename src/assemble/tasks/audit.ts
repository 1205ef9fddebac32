import { randomUUID } from 'node:crypto'
import { systemClock } from '../../clock.ts'
import type { Config, SinkConfig } from '../../config/schema/schema.ts'
import type { Day } from '../../domain/day.ts'
import type { Identity } from '../../domain/event/event.ts'
import type { PartEnd } from '../../domain/part-report.ts'
import type { ReadRequest } from '../../domain/read-request.ts'
import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { formats, type FormatName } from '../../formats/registry.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { Holder } from '../../ports/ledger.ts'
import type { Store } from '../../ports/store.ts'
import { auditDay } from '../../maintenance/audit/audit-day.ts'
import { auditFiles, type ReadableSink } from '../../maintenance/audit/audit-files.ts'
import { auditDays, type DaysAudit } from '../../maintenance/audit/audit-days.ts'
import type { FileAudit, StreamAudit } from '../../maintenance/audit/audit-report.ts'
import type { AuditedSink, PartLines } from '../../maintenance/audit/audited-sink.ts'
import { withHeartbeat } from '../../pump/heartbeat.ts'
import { serveRequest } from '../../maintenance/serve-request.ts'
import { repairFiles, type FilesRepair } from '../../maintenance/audit/repair-files.ts'
import { compareParts } from '../../sinks/file/reconcile/compare-parts.ts'
import { readCommitted } from '../../sinks/file/read/read-committed.ts'
import { openExistingStore, stateName } from './existing-store.ts'
import { createQuietGround, createHolder, type QuietGround } from '../quiet-ground.ts'
import { policyOf } from '../policy.ts'
import { createShipping, type Shipping } from '../shipping.ts'
import { workersOn } from '../state.ts'

export type { DaysAudit, FileAudit, StreamAudit }

export interface AuditRequest {
  readonly zones: readonly Zone[]
  readonly day: Day
  readonly sinks: readonly SinkConfig[]
  readonly repair: boolean
  /** Also reads the files of file sinks, line by line. */
  readonly deep: boolean
  /** Reports slow steps to the user. */
  readonly tell: (text: string) => void
}

/** Compares days with the store, and repairs differences if requested. Throws only `cancelled`. */
export async function audit(config: Config, request: AuditRequest, signal: AbortSignal): Promise<DaysAudit> {
  let store: Store | undefined
  try {
    store = await openExistingStore(config, systemClock)
    if (store !== undefined) return await auditOver(store, config, request, signal)
    const why = `there is no store at ${stateName(config)}: nothing was shipped that could be compared`
    return { streams: [], files: [], blind: [why], unrepaired: [] }
  } catch (error) {
    if (!isFailure(error) || error.code === 'cancelled') throw error
    return { streams: [], files: [], blind: [messageOf(error)], unrepaired: [] }
  } finally {
    await store?.close()
  }
}

async function auditOver(
  store: Store,
  config: Config,
  { zones, day, sinks, repair, deep, tell }: AuditRequest,
  signal: AbortSignal,
): Promise<DaysAudit> {
  const ground = createQuietGround()
  const { clock, apiClock } = ground
  const holder = createHolder(false)
  const shipping = createShipping(config, ground, { store, holder })
  const isShipping = async () => (await workersOn(config, clock)).length > 0
  const { source } = shipping.reading
  const deps = { source, clock, apiClock, store, policy: policyOf(config), isShipping }
  const audited = sinks.map((sink) => auditedSink(sink, store))
  const readable = new Map(audited.flatMap((sink) => (isReadable(sink) ? [[sink.name, sink] as const] : [])))
  try {
    return await auditDays(zones, day, {
      audit: (zone) => auditDay({ zone, day, sinks: audited }, deps, signal),
      ...(repair && {
        repair: {
          correct: (job: FilesRepair) =>
            withHeartbeat({ store, clock, holder }, () => repairFiles(job, shipping.deps, signal)),
          async ship(stream: Stream, zone: Zone) {
            tell(`repairing zone ${zone.id} on ${day} → ${stream.sink}`)
            return repairOver(store, shipping, { stream, zone, ground, holder }, signal)
          },
        },
      }),
      ...(deep && {
        files: {
          sinks: [...readable.keys()],
          audit: (stream: Stream, zone: Zone) =>
            auditFiles({ zone, stream, sink: readable.get(stream.sink)! }, deps, signal),
        },
      }),
    })
  } finally {
    await shipping.close()
  }
}

async function repairOver(
  store: Store,
  shipping: Shipping,
  { stream, zone, ground, holder }: { stream: Stream; zone: Zone; ground: QuietGround; holder: Holder },
  signal: AbortSignal,
): Promise<number> {
  const { clock, apiClock } = ground
  const ordering = (await store.ledger.read(stream))?.ordering ?? unknownOrdering
  const readRequest: ReadRequest = { id: randomUUID() }
  const pump = (abort: AbortSignal) =>
    shipping.pump({ stream, zone, ordering, priority: 'backfill', readRequest }, () => false, abort)
  const deps = { store, clock, now: () => apiClock.now(zone.account), pump }
  const work = () => serveRequest(stream, readRequest, deps, signal)
  const { outcome, reason, delivered } = await withHeartbeat({ store, clock, holder }, work)
  if (outcome === 'left_out') throw new Failure('refuse', 'rejected', reason ?? 'the day was left out')
  return delivered
}

function auditedSink(sink: SinkConfig, store: Store): AuditedSink {
  if (sink.type !== 'file') return { name: sink.name }
  const identify = identifyAny(sink.format)
  return {
    name: sink.name,
    compareParts: (stream, checkpoint) =>
      compareParts(sink.path, stream, { storeId: store.id, committed: checkpoint?.committed ?? [] }),
    async *readLines(stream, committed): AsyncGenerator<PartLines | PartEnd> {
      for await (const piece of readCommitted(sink.path, stream, committed)) {
        if (!('lines' in piece)) yield piece
        else yield { part: piece.part, from: piece.from, identities: piece.lines.map(identify) }
      }
    },
  }
}

/** Parts may hold lines of a format that the sink had before. */
function identifyAny(first: FormatName): (line: string) => Identity | undefined {
  const others = Object.keys(formats).filter((name) => name !== first) as FormatName[]
  const all = [first, ...others].map((name) => formats[name]())
  return (line) => {
    for (const format of all) {
      const identity = format.identify(line)
      if (identity !== undefined) return identity
    }
    return undefined
  }
}

function isReadable(sink: AuditedSink): sink is ReadableSink {
  return sink.readLines !== undefined
}
