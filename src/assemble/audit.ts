import { setImmediate } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock.ts'
import { policyOf } from '../config/planned.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import { committedLengths } from '../domain/checkpoint.ts'
import type { PartEnd } from '../domain/audit-report.ts'
import { daysFrom, firstReadable, type Day } from '../domain/day.ts'
import type { Identity } from '../domain/event/event.ts'
import { Failure, isFailure, messageOf } from '../domain/failure.ts'
import type { Gap } from '../domain/gap.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import { keepLatest } from '../domain/promises.ts'
import type { ReadRequest } from '../domain/read-request.ts'
import { unknownOrdering } from '../domain/scan/ordering.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import { formats, type FormatName } from '../formats/registry.ts'
import { auditDay, type ComparedSides } from '../maintenance/audit/audit-day.ts'
import {
  auditFiles,
  type ReadableSink,
  type AuditedSink,
  type PartLines,
} from '../maintenance/audit/audit-files.ts'
import {
  auditDays,
  auditTargets,
  type AuditChoice,
  type AuditTarget,
  type TargetAudit,
  DetailBudget,
  lookAndRepair,
  type LookDeps,
} from '../maintenance/audit/audit.ts'
import { serveRequest } from '../maintenance/serve-request.ts'
import { unseeLost, type FilesRepair } from '../maintenance/unsee.ts'
import type { Store } from '../ports/store.ts'
import { compareParts } from '../sinks/file/compare-parts.ts'
import { readCommitted } from '../sinks/file/read.ts'
import {
  auditedDays,
  ComparedDays,
  detailsOf,
  type Details,
  type AuditedDaysDeps,
} from '../status/audited-days.ts'
import { refuseHeld } from './held-sinks.ts'
import type { Shipping } from './shipping.ts'
import { workersOn, stateName } from './state.ts'
import { version } from './version.ts'
import { openWork, type Work } from './work.ts'
import { isRetired } from '../discovery/with-zones.ts'

interface AuditRequest {
  readonly zones: readonly Zone[]
  /** Absent: all days that should be readable, without those before the first day of a route. */
  readonly days?: readonly Day[]
  readonly sinks: readonly SinkConfig[]
  readonly repair: boolean
  /** Also reads the files of file sinks, line by line. */
  readonly deep: boolean
  /** Also gives the days in detail, for a report. */
  readonly report: boolean
  /** Reports slow steps to the user. */
  readonly tell: (text: string) => void
  /** Called after each zone's day. */
  readonly progressed?: (progress: AuditProgress) => void
}

/** Counts of zones' days, and of events that the API listed. */
export interface AuditProgress {
  readonly done: number
  readonly all: number
  readonly listed: number
}

export interface Audit extends Details {
  readonly days: readonly Day[]
  /** What there was to compare, by zone, then day; the order of the configuration. */
  readonly targets: readonly AuditTarget[]
  /** In the same order; a target that was not reached before a stop is missing. */
  readonly audited: readonly TargetAudit[]
  readonly gaps: readonly Gap[]
  /** Why nothing could be compared at all. */
  readonly blind?: string
}

/** Zones' days that are read at once. Files are read by the CPU of this process, so more would not be faster. */
const atOnce = { usual: 4, deep: 2 }
const rememberedMs = 2_000

/** Compares days with the store, and repairs differences if requested. Throws only bugs; a stop ends it early. */
export async function audit(config: Config, request: AuditRequest, signal: AbortSignal): Promise<Audit> {
  const today = todayOf(systemClock.now())
  const { days = daysFrom(firstReadable(today, config.poll.readableDays), today) } = request
  const nothing = { days, targets: [], audited: [], gaps: [], details: [] }
  try {
    await using work = await openWork(config, { store: 'existing', sharesBudgets: true }, signal)
    const areDaysNamed = request.days !== undefined
    if (work.hasStore) return await auditOver(work, { ...request, days, areDaysNamed }, signal)
    const why = `there is no store at ${stateName(config)}: nothing was shipped yet, so there is nothing to compare`
    return { ...nothing, blind: why }
  } catch (error) {
    if (!isFailure(error)) throw error
    return error.code === 'cancelled' ? nothing : { ...nothing, blind: messageOf(error) }
  }
}

async function auditOver(
  work: Work,
  request: AuditRequest & Pick<AuditChoice, 'days' | 'areDaysNamed'>,
  signal: AbortSignal,
): Promise<Audit> {
  const { store, runtime } = work
  const { days, sinks, deep } = request
  const targets = await auditTargets({ ...request, sinks: sinks.map(({ name }) => name) }, store)
  const gaps = await store.catalogue.gaps()
  const shipping = await work.shipping({ delivers: request.repair })
  const compared = new ComparedDays()
  const look = lookDeps({ work, shipping, compared }, request, signal)
  const audited = new Map<AuditTarget, TargetAudit>()
  const budget = new DetailBudget()
  let listed = 0
  await auditDays(targets, {
    atOnce: deep ? atOnce.deep : atOnce.usual,
    audit: (target) => lookAndRepair(target, look),
    done(one) {
      const streams = one.streams.map((stream) => budget.ofStream(stream))
      audited.set(one.target, { ...one, streams, files: one.files.map((file) => budget.ofFile(file)) })
      listed += one.streams[0]?.listed ?? 0
      request.progressed?.({ done: audited.size, all: targets.length, listed })
    },
  })
  await noteAudits(audited.values(), store, runtime.clock.now()).catch((error: unknown) => {
    if (!isFailure(error)) throw error
    // The result itself is whole.
    request.tell(`the status page does not show this audit: ${messageOf(error)}`)
  })
  const details: Details = request.report
    ? await detailsOf(auditedDays(targets, compared, daysDeps(work, shipping)))
    : { details: [] }
  return { days, targets, audited: targets.flatMap((target) => audited.get(target) ?? []), gaps, ...details }
}

function daysDeps({ config, store, runtime }: Work, { planner, settings }: Shipping): AuditedDaysDeps {
  return {
    ...runtime,
    store,
    planner,
    settings,
    version,
    turn: setImmediate,
    workers: () => workersOn(config, runtime.clock),
    keepDays: config.state.keepDays,
    isRetired: (zone) => isRetired(config, zone),
  }
}

/** The status page shows the latest audit of a day. */
async function noteAudits(audited: Iterable<TargetAudit>, store: Store, atMs: number): Promise<void> {
  for (const { streams } of audited)
    for (const {
      zone,
      day,
      sink,
      isEqual,
      listed,
      ledger,
      missing,
      extra,
      notYetDue,
      isByCounts,
    } of streams) {
      const counts = { listed, ledger, missing, extra, notYetDue }
      await store.ledger.noteAudit({ zone, day, sink }, { atMs, version, isEqual, ...counts, isByCounts })
    }
}

interface Parts {
  readonly work: Work
  readonly shipping: Shipping
  readonly compared: ComparedDays
}

function lookDeps(
  { work, shipping, compared }: Parts,
  { sinks, repair, deep, report, tell }: AuditRequest,
  signal: AbortSignal,
): LookDeps {
  const { config, store, reading } = work
  const { clock, apiClock } = work.runtime
  const { source } = reading
  const askShipping = async () => (await workersOn(config, clock)).length > 0
  const { read: isShipping } = keepLatest(askShipping, rememberedMs, clock)
  const noted = { compared: (stream: Stream, sides: ComparedSides) => compared.note(stream, sides) }
  const policy = policyOf(config)
  const deps = { source, clock, apiClock, store, policy, isShipping, ...(report && noted) }
  const audited = new Map(sinks.map((sink) => [sink.name, auditedSink(sink, store)]))
  const readable = new Map([...audited].flatMap(([name, sink]) => (isReadable(sink) ? [[name, sink]] : [])))
  return {
    audit: ({ zone, day, sinks: names }) =>
      auditDay({ zone, day, sinks: names.map((name) => audited.get(name)!) }, deps, signal),
    ...(repair && {
      repair: {
        async correct(job: FilesRepair) {
          await refuseHeld(config, store, [job.stream.sink])
          return work.beating(() => unseeLost(job, shipping.deps, signal))
        },
        async ship(stream: Stream, zone: Zone) {
          await refuseHeld(config, store, [stream.sink])
          tell(`repairing zone ${zone.id} on ${stream.day} → ${stream.sink}`)
          return repairOver({ stream, zone }, { work, shipping }, signal)
        },
      },
    }),
    ...(deep && {
      files: {
        sinks: new Set(readable.keys()),
        isKnown: async (stream: Stream) => (await store.ledger.read(stream)) !== undefined,
        audit: (stream: Stream, zone: Zone) =>
          auditFiles({ zone, stream, sink: readable.get(stream.sink)! }, deps, signal),
      },
    }),
  }
}

async function repairOver(
  { stream, zone }: { readonly stream: Stream; readonly zone: Zone },
  { work, shipping }: Omit<Parts, 'compared'>,
  signal: AbortSignal,
): Promise<number> {
  const { store, runtime } = work
  const { clock, apiClock } = runtime
  const ordering = (await store.ledger.read(stream))?.ordering ?? unknownOrdering
  const readRequest: ReadRequest = { id: randomUUID() }
  const pump = (abort: AbortSignal) =>
    shipping.pump({ stream, zone, ordering, priority: 'backfill', readRequest }, abort, () => false)
  const deps = { store, clock, now: () => apiClock.now(zone.account), pump }
  const { outcome, reason, delivered } = await work.beating(() =>
    serveRequest(stream, readRequest, deps, signal),
  )
  if (outcome === 'left_out') throw new Failure('refuse', 'rejected', reason ?? 'the day was left out')
  return delivered
}

/** What an audit compares of a sink. */
function auditedSink(sink: SinkConfig, store: Store): AuditedSink {
  if (sink.type !== 'file') return { name: sink.name }
  const identify = identifyAny(sink.format)
  return {
    name: sink.name,
    compareParts: (stream, checkpoint) =>
      compareParts(sink.path, stream, committedLengths(store.id, checkpoint)),
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
