import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import { routeKey, type Stream, type Zone, type Gap } from '../../domain/stream.ts'
import { auditFiles, isRepairable, type FileAudit, type FilesLooked } from './audit-files.ts'
import { auditDay, type AuditTarget, type DayDeps, type StreamAudit } from './audit-day.ts'
import type { FoundEvents } from '../../days/found-events.ts'
import { unseeLost } from '../../days/unsee.ts'
import { hasDay, type Day } from '../../domain/day.ts'
import type { Removed } from '../../domain/retention.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { Store } from '../../ports/store.ts'
import { shippedText } from '../../pump/end-stream.ts'
import type { PumpDeps } from '../../pump/session.ts'
import { fewOfAccounts } from '../../days/few-of-accounts.ts'
import { serveRequest } from '../../days/hold-stream.ts'

interface AuditDeps extends DayDeps {
  /** Also compares the lines of files. */
  readonly deep: boolean
  /** Absent: nothing is repaired. */
  readonly repair?: {
    readonly pumpDeps: PumpDeps
    /** Sinks to which nothing may be shipped, with the reason. */
    readonly held: ReadonlyMap<string, string>
    /** One pump of one page. */
    pump(
      planned: Pick<PlannedStream, 'stream' | 'zone' | 'priority' | 'readRequest' | 'ordering'>,
      signal: AbortSignal,
      mayGoOn: () => boolean,
    ): Promise<Failure | undefined>
    /** Tells a person that a repair begins. */
    tell(text: string): void
  }
  progressed(progress: AuditProgress): void
}

/** `done` and `all` are zones' days, `listed` events. */
export interface AuditProgress {
  readonly done: number
  readonly all: number
  readonly listed: number
}

/** What there is to tell of one zone, day and sink. One without a result and a failure was not reached before a stop. */
export interface Finding extends Stream {
  /** Of the zone. */
  readonly name: string
  /** Comparison with the API; absent also where the API no longer lists the day and only files were compared. */
  readonly stream?: StreamAudit | undefined
  readonly file?: FileAudit | undefined
  /** For a report, of the first days that are equal, and of the first that differ. */
  readonly sides?: Awaited<ReturnType<typeof auditDay>>['streams'][number]['sides']
  /** Why it could not be compared, or not compared again after a repair. */
  readonly failure?: Failure
  /** Why a repair ended early. */
  readonly unrepaired?: string | undefined
  readonly gap?: Gap | undefined
  /** The sink's retention has removed the files of the day. */
  readonly removed?: Removed | undefined
  /** Why there is nothing to compare: the day was shipped, and the state has dropped what. */
  readonly shipped?: string
}

interface AuditChoice {
  readonly zones: readonly Zone[]
  /** Names. */
  readonly sinks: readonly string[]
  readonly days: readonly Day[]
  /** False: a day before the first one of a route was never to be shipped there, and is left out. */
  readonly areDaysNamed: boolean
}

/** Zones' days that are read at once. Files are read by the CPU of this process, so more would not be faster. */
const mostAtOnce = { usual: 4, deep: 2 }

/**
 * Compares a few days at once, by zone, then day; one that cannot be compared does not stop the others. Repairs what
 * differs where that is requested, and compares it again. Throws the Failures of a store, and bugs; a stop ends it early.
 */
export async function auditDays(
  choice: AuditChoice,
  deps: AuditDeps,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { store } = deps
  const targets = await targetsOf(choice, store)
  const gaps = (await store.catalogue.gaps()).filter(({ readAt }) => readAt === undefined)
  const found = new Map<AuditTarget, readonly Finding[]>()
  const shorten = detailBudget()
  const each = ({ zone, day, sinks }: AuditTarget, more: Pick<Finding, 'failure'> = {}): Finding[] =>
    sinks.map((sink) => ({ zone: zone.id, name: zone.name, day, sink, ...more }))
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
  const leave = (target: AuditTarget, failure: Failure) => void settle(target, each(target, { failure }))
  const atOnce = deps.deep ? mostAtOnce.deep : mostAtOnce.usual
  await fewOfAccounts(targets, atOnce, ({ zone }) => zone.account, work, leave)
  const findings: Finding[] = []
  for (const target of targets) {
    const own = found.get(target) ?? each(target)
    const isCompared = own.some(({ failure, shipped }) => failure === undefined && shipped === undefined)
    for (const finding of own) {
      const { zone, day, sink, failure } = finding
      const gap = gaps.find((one) => one.zone === zone && one.day === day && one.sink === sink)
      // Where files of other sinks were compared, there is nothing to tell of one without files but a gap.
      if (isCompared && failure !== undefined && gap === undefined) continue
      const removed = deps.files.has(sink)
        ? (await store.ledger.read({ zone, day, sink }))?.removed
        : undefined
      findings.push({ ...finding, gap, removed })
    }
  }
  return findings
}

async function targetsOf(
  { zones, sinks, days, areDaysNamed }: AuditChoice,
  store: Pick<Store, 'catalogue' | 'ledger'>,
): Promise<AuditTarget[]> {
  const routes = areDaysNamed ? [] : await store.catalogue.routes()
  const known = new Map(routes.map((route) => [routeKey(route.zone, route.sink), route]))
  const targets: AuditTarget[] = []
  for (const zone of zones)
    for (const day of days) {
      const chosen: string[] = []
      for (const sink of sinks) {
        const { firstDay = day, pruned = [] } = known.get(routeKey(zone.id, sink)) ?? {}
        const isDue = day >= firstDay && !hasDay(pruned, day)
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
async function auditTarget(
  { zone, day, sinks: all }: AuditTarget,
  deps: AuditDeps,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { ledger } = deps.store
  const repairs = new Map<string, Repaired>()
  const found = { zone: zone.id, name: zone.name, day }
  const shipped: Finding[] = []
  for (const sink of all) {
    const stream = { zone: zone.id, day, sink }
    if ((await ledger.dropped(stream)) === 'day')
      shipped.push({ ...found, sink, shipped: shippedText('day', await ledger.read(stream)) })
  }
  const sinks = all.filter((sink) => shipped.every((each) => each.sink !== sink))
  if (sinks.length === 0) return shipped
  const target = { zone, day, sinks }
  try {
    let looked = await look(target, deps, signal)
    for (const sink of deps.repair === undefined ? [] : sinks) {
      const repaired = await repairOne({ zone: zone.id, day, sink }, zone, looked, deps, signal)
      if (repaired !== undefined) repairs.set(sink, repaired)
    }
    // Also after a failed repair: it may have shipped some events.
    if (repairs.size > 0) looked = await look(target, deps, signal)
    const compared = sinks.flatMap((sink) => {
      const { audit, sides } = looked.streams.find((each) => each.audit.sink === sink) ?? {}
      const file = looked.files.get(sink)?.report
      if (audit === undefined && file === undefined)
        return looked.listing instanceof Error ? { ...found, sink, failure: looked.listing } : []
      const { error: unrepaired, repaired, restored, kept = 0 } = repairs.get(sink) ?? {}
      return {
        ...found,
        sink,
        stream: audit && { ...audit, ...(repaired !== undefined && { repaired }) },
        file: file && { ...file, ...(restored !== undefined && { restored, kept }) },
        sides,
        unrepaired,
      }
    })
    return [...compared, ...shipped]
  } catch (error) {
    const failure = failureOf(error)
    const failed = sinks.map((sink) => ({ ...found, sink, failure, unrepaired: repairs.get(sink)?.error }))
    return [...failed, ...shipped]
  }
}

/** A stop and a bug do not become part of the report. */
function failureOf(error: unknown): Failure {
  if (!isFailure(error) || error.code === 'cancelled') throw error
  return error
}

interface Looked extends Pick<Awaited<ReturnType<typeof auditDay>>, 'streams'> {
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
  const { pumpDeps, held, tell, pump } = deps.repair!
  const file = files.get(stream.sink)
  const looked = file !== undefined && isRepairable(file.report) ? file : undefined
  const isMissing = streams.some(({ audit }) => audit.sink === stream.sink && !audit.isEqual)
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
    const readRequest = { id: crypto.randomUUID() }
    const planned = { stream, zone, ordering: unknownOrdering, priority: 'backfill', readRequest } as const
    const pumpOnce = (abort: AbortSignal) => pump(planned, abort, () => false)
    const serving = { ...deps, pump: pumpOnce, now: () => deps.apiClock.now(zone.account) }
    const { outcome, reason, delivered } = await serveRequest(stream, readRequest, serving, signal)
    const restored = Math.min(unseen, delivered)
    return {
      // It may have shipped some events all the same.
      ...(outcome === 'left_out' && { error: reason ?? 'the day was left out' }),
      ...(looked !== undefined && { restored, kept }),
      ...(isMissing && { repaired: delivered - restored }),
    }
  } catch (error) {
    return { ...done, error: messageOf(failureOf(error)) }
  }
}

/** So many comparisons that differ name all their minutes, events and lines; the others only the first of them. */
const mostWhole = 200
const least = 20
/** Minutes of both sides take 24 KB a day. */
const mostSides = 100

const lists = new Set(['minutes', 'missingEvents', 'badLines'])

/** Bounds the memory. All counts of a shortened comparison are whole, and it says that it is shortened. */
export function detailBudget(most = mostWhole): (finding: Finding) => Finding {
  let whole = 0
  const sidesOf = { equal: 0, differing: 0 }
  function shorten<Audit extends StreamAudit | FileAudit>(audit: Audit | undefined): Audit | undefined {
    if (audit === undefined || audit.isEqual || ++whole <= most) return audit
    const cut = Object.entries(audit).map(([name, value]: [string, unknown]) => {
      return [name, lists.has(name) ? (value as unknown[]).slice(0, least) : value]
    })
    return { ...(Object.fromEntries(cut) as Audit), isShortened: true }
  }
  return ({ sides, ...finding }) => {
    const { stream, file } = finding
    const kind = stream?.isEqual === true ? 'equal' : 'differing'
    const mayKeep = sides !== undefined && sidesOf[kind]++ < mostSides
    return { ...finding, stream: shorten(stream), file: shorten(file), ...(mayKeep && { sides }) }
  }
}
