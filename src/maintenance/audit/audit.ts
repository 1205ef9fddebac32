import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { auditFiles, type FilesLooked } from './audit-files.ts'
import { auditDay, type AuditTarget, type DayDeps } from './audit-day.ts'
import { isRepairable, type FileAudit, type StreamAudit } from '../../domain/audit-report.ts'
import type { FoundEvents } from '../read/found-events.ts'
import { unseeLost } from '../unsee.ts'
import type { Day } from '../../domain/day.ts'
import type { Gap } from '../../domain/gap.ts'
import type { Removed } from '../../domain/retention.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { Store } from '../../ports/store.ts'
import type { PumpDeps } from '../../pump/session.ts'
import { fewOfAccounts } from '../read/few-of-accounts.ts'
import { serveRequest } from '../hold-stream.ts'

export interface AuditDeps extends DayDeps {
  /** Also compares the lines of files. */
  readonly deep: boolean
  /** Absent: nothing is repaired. */
  readonly repair?: RepairDeps
  progressed(progress: AuditProgress): void
}

interface RepairDeps {
  readonly pumpDeps: PumpDeps
  /** Sinks to which nothing may be shipped, with the reason. */
  readonly held: ReadonlyMap<string, string>
  /** One pump of one page. */
  pump(
    planned: Pick<PlannedStream, 'stream' | 'zone' | 'priority' | 'readRequest' | 'ordering'>,
    signal: AbortSignal,
    mayGoOn: () => boolean,
  ): Promise<Failure | undefined>
  /** Random, never used before. */
  requestId(): string
  /** Tells a person that a repair begins. */
  tell(text: string): void
}

/** `done` and `all` are zones' days, `listed` events. */
export interface AuditProgress {
  readonly done: number
  readonly all: number
  readonly listed: number
}

/** What there is to tell of one zone, day and sink. One without a result and a failure was not reached before a stop. */
export interface Finding {
  readonly zone: Zone
  readonly day: Day
  readonly sink: string
  /** Comparison with the API; absent also where the API no longer lists the day and only files were compared. */
  readonly stream?: StreamAudit
  readonly file?: FileAudit
  /** Why it could not be compared, or not compared again after a repair. */
  readonly failure?: Failure
  readonly unrepaired?: string
  readonly gap?: Gap
  /** The sink's retention has removed the files of the day. */
  readonly removed?: Removed
}

export interface AuditChoice {
  readonly zones: readonly Zone[]
  /** Names. */
  readonly sinks: readonly string[]
  readonly days: readonly Day[]
  /** False: a day before the first one of a route was never to be shipped there, and is left out. */
  readonly areDaysNamed: boolean
}

/** Zones' days that are read at once. Files are read by the CPU of this process, so more would not be faster. */
const atOnce = { usual: 4, deep: 2 }

/**
 * Compares a few days at once, by zone, then day; one that cannot be compared does not stop the others. Repairs what
 * differs where that is requested, and compares it again. Answers all gaps too. Throws the Failures of a store, and bugs; a stop ends it early.
 */
export async function auditDays(
  choice: AuditChoice,
  deps: AuditDeps,
  signal: AbortSignal,
): Promise<{ readonly findings: readonly Finding[]; readonly gaps: readonly Gap[] }> {
  const targets = await targetsOf(choice, deps.store)
  const gaps = await deps.store.catalogue.gaps()
  const found = new Map<AuditTarget, readonly Finding[]>()
  const shorten = detailBudget()
  let listed = 0
  function settle(target: AuditTarget, own: readonly Finding[]): Failure | undefined {
    found.set(target, own.map(shorten))
    listed += own[0]?.stream?.listed ?? 0
    deps.progressed({ done: found.size, all: targets.length, listed })
    return own[0]?.failure
  }
  async function work(target: AuditTarget): Promise<Failure | undefined> {
    try {
      // After a stop the others are not begun.
      return signal.aborted ? undefined : settle(target, await auditTarget(target, deps, signal))
    } catch (error) {
      if (!isFailure(error, 'cancelled')) throw error
      return undefined
    }
  }
  await fewOfAccounts(
    targets,
    deps.deep ? atOnce.deep : atOnce.usual,
    ({ zone }) => zone.account,
    work,
    (target, failure) => void settle(target, eachOf(target, { failure })),
  )
  const findings: Finding[] = []
  for (const finding of targets.flatMap((target) => found.get(target) ?? eachOf(target, {}))) {
    const { zone, day, sink } = finding
    const gap = gaps.find((each) => each.zone === zone.id && each.day === day && each.sink === sink)
    const stream = { zone: zone.id, day, sink }
    const removed = deps.files.has(sink) ? (await deps.store.ledger.read(stream))?.removed : undefined
    findings.push({ ...finding, ...(gap && { gap }), ...(removed && { removed }) })
  }
  return { findings, gaps }
}

function eachOf({ zone, day, sinks }: AuditTarget, found: Pick<Finding, 'failure'>): Finding[] {
  return sinks.map((sink) => ({ zone, day, sink, ...found }))
}

async function targetsOf(
  { zones, sinks, days, areDaysNamed }: AuditChoice,
  store: Pick<Store, 'catalogue' | 'ledger'>,
): Promise<AuditTarget[]> {
  const routes = areDaysNamed ? [] : await store.catalogue.routes()
  const firstDays = new Map(routes.map(({ zone, sink, firstDay }) => [`${zone} ${sink}`, firstDay]))
  const targets: AuditTarget[] = []
  for (const zone of zones)
    for (const day of days) {
      const chosen: string[] = []
      for (const sink of sinks) {
        const isDue = day >= (firstDays.get(`${zone.id} ${sink}`) ?? day)
        // A backfill may have shipped an earlier day.
        if (isDue || (await store.ledger.read({ zone: zone.id, day, sink })) !== undefined) chosen.push(sink)
      }
      if (chosen.length > 0) targets.push({ zone, day, sinks: chosen })
    }
  return targets
}

/** What a repair did to one sink, for its reports, and the error that ended it. */
interface Repaired extends Pick<StreamAudit, 'repaired'>, Pick<FileAudit, 'restored' | 'kept'> {
  readonly error?: string
}

/** Throws only `cancelled`, and bugs. */
async function auditTarget(target: AuditTarget, deps: AuditDeps, signal: AbortSignal): Promise<Finding[]> {
  const { zone, day, sinks } = target
  const repairs = new Map<string, Repaired>()
  const findingOf = (sink: string, found: Pick<Finding, 'stream' | 'file' | 'failure'>): Finding => {
    const { error } = repairs.get(sink) ?? {}
    return { zone, day, sink, ...found, ...(error !== undefined && { unrepaired: error }) }
  }
  try {
    let looked = await look(target, deps, signal)
    for (const sink of deps.repair === undefined ? [] : sinks) {
      const repaired = await repairOne({ zone: zone.id, day, sink }, zone, looked, deps, signal)
      if (repaired !== undefined) repairs.set(sink, repaired)
    }
    // Also after a failed repair: it may have shipped some events.
    if (repairs.size > 0) looked = await look(target, deps, signal)
    return sinks.flatMap((sink) => {
      const stream = looked.streams.find((each) => each.sink === sink)
      const file = looked.files.get(sink)?.report
      if (stream === undefined && file === undefined) return []
      const { repaired, restored, kept = 0 } = repairs.get(sink) ?? {}
      return findingOf(sink, {
        ...(stream && { stream: repaired === undefined ? stream : { ...stream, repaired } }),
        ...(file && { file: restored === undefined ? file : { ...file, restored, kept } }),
      })
    })
  } catch (error) {
    const failure = failureOf(error)
    return sinks.map((sink) => findingOf(sink, { failure }))
  }
}

/** A stop and a bug do not become part of the report. */
function failureOf(error: unknown): Failure {
  if (!isFailure(error) || error.code === 'cancelled') throw error
  return error
}

interface Looked {
  /** Of all sinks; none where the API no longer lists the day. */
  readonly streams: readonly StreamAudit[]
  readonly files: ReadonlyMap<string, FilesLooked>
  /** What the API lists, or why it could not be read: then only files were compared. */
  readonly listing: FoundEvents | Failure
}

async function look(target: AuditTarget, deps: AuditDeps, signal: AbortSignal): Promise<Looked> {
  const { zone, day, sinks } = target
  const files = new Map<string, FilesLooked>()
  for (const sink of deps.deep ? sinks : []) {
    const stream = { zone: zone.id, day, sink }
    const own = deps.files.get(sink)
    // Without a ledger there is nothing to compare lines with.
    if (own === undefined || (await deps.store.ledger.read(stream)) === undefined) continue
    files.set(sink, await auditFiles({ zone, stream, files: own }, deps, signal))
  }
  try {
    return { ...(await auditDay(target, deps, signal)), files }
  } catch (error) {
    // Files of a day that the API no longer lists can still be compared with the ledger.
    if (files.size === 0 || !isFailure(error, 'window_closed')) throw error
    return { streams: [], files, listing: error }
  }
}

/** First corrects what the store records about files, then ships all that is missing by one scan. */
async function repairOne(
  stream: Stream,
  zone: Zone,
  { streams, files, listing }: Looked,
  deps: AuditDeps,
  signal: AbortSignal,
): Promise<Repaired | undefined> {
  const { pumpDeps, held, tell, pump, requestId } = deps.repair!
  const file = files.get(stream.sink)
  const looked = file !== undefined && isRepairable(file.report) ? file : undefined
  const isMissing = streams.some(({ sink, isEqual }) => sink === stream.sink && !isEqual)
  if (looked === undefined && !isMissing) return undefined
  if (listing instanceof Error) return { error: listing.message }
  const why = held.get(stream.sink)
  if (why !== undefined) return { error: `sink ${stream.sink}: ${why}` }
  let done: Repaired = {}
  try {
    let [unseen, kept] = [0, 0]
    if (looked !== undefined) {
      ;({ unseen, kept } = await unseeLost({ stream, zone, looked, listing }, pumpDeps, signal))
      done = { restored: 0, kept }
    }
    tell(`repairing zone ${zone.id} on ${stream.day} → ${stream.sink}`)
    // Also where nothing is missing: opening the sink cuts what lies beyond the committed lengths.
    const readRequest = { id: requestId() }
    const planned = { stream, zone, ordering: unknownOrdering, priority: 'backfill', readRequest } as const
    const pumpOnce = (abort: AbortSignal) => pump(planned, abort, () => false)
    const serving = { ...deps, pump: pumpOnce, now: () => deps.apiClock.now(zone.account) }
    const { outcome, reason, delivered } = await serveRequest(stream, readRequest, serving, signal)
    if (outcome === 'left_out') return { ...done, error: reason ?? 'the day was left out' }
    const restored = Math.min(unseen, delivered)
    return {
      ...(looked !== undefined && { restored, kept }),
      ...(isMissing && { repaired: delivered - restored }),
    }
  } catch (error) {
    return { ...done, error: messageOf(failureOf(error)) }
  }
}

/** Minutes, events and lines that all findings of one audit name together. */
const mostDetails = 200_000
/** So many of each a report names in any case. */
const least = 20

/** Bounds the memory: once the budget is used up, a report keeps its counts and the first details, and says so. */
export function detailBudget(details = mostDetails): (finding: Finding) => Finding {
  let left = details
  function first<Item>(all: readonly Item[]): readonly Item[] {
    const most = Math.max(least, left)
    left -= Math.min(all.length, most)
    return all.length <= most ? all : all.slice(0, most)
  }
  return (finding) => {
    const { stream, file } = finding
    const [minutes, events] = [first(stream?.minutes ?? []), first(stream?.missingEvents ?? [])]
    const [fileMinutes, lines] = [first(file?.minutes ?? []), first(file?.badLines ?? [])]
    const isCut = minutes !== stream?.minutes || events !== stream.missingEvents
    const isFileCut = fileMinutes !== file?.minutes || lines !== file.badLines
    return {
      ...finding,
      ...(stream && isCut && { stream: { ...stream, minutes, missingEvents: events, isShortened: true } }),
      ...(file &&
        isFileCut && { file: { ...file, minutes: fileMinutes, badLines: lines, isShortened: true } }),
    }
  }
}
