import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import type { FilesLooked } from './audit-files.ts'
import type { DayAudit } from './audit-day.ts'
import { isRepairable, type FileAudit, type StreamAudit } from '../../domain/audit-report.ts'
import type { DayListing } from './compare-ledger.ts'
import type { FilesRepair, FilesRepaired } from '../unsee.ts'
import type { Day } from '../../domain/day.ts'
import type { Store } from '../../ports/store.ts'
import { fewAtOnce } from '../../domain/promises.ts'
import { Accounts } from '../read/check.ts'

export interface LookDeps {
  /** Throws a Failure when it could not compare. */
  audit(target: AuditTarget): Promise<DayAudit>
  /** Compares the lines of files, where that is requested. */
  readonly files?: FilesDeps
  /** Absent: nothing is repaired. */
  readonly repair?: RepairDeps
}

interface FilesDeps {
  /** Sinks that keep files. */
  readonly sinks: ReadonlySet<string>
  /** Whether the state knows the stream: without a ledger there is nothing to compare lines with. */
  isKnown(stream: Stream): Promise<boolean>
  /** Throws a Failure when it could not compare. */
  audit(stream: Stream, zone: Zone): Promise<FilesLooked>
}

interface RepairDeps {
  /** Corrects what the store records about files. Throws Failure. */
  correct(repair: FilesRepair): Promise<FilesRepaired>
  /** Ships the events that a stream lacks; returns their number. Throws Failure. */
  ship(stream: Stream, zone: Zone): Promise<number>
}

interface Found {
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FilesLooked[]
  /** What the API lists, or why it could not be read: then only files were compared. */
  readonly listing: DayListing | Failure
}

/** Compares a zone's day, repairs it where that is requested, and compares it again. Throws only `cancelled`, and bugs. */
export async function lookAndRepair(target: AuditTarget, deps: LookDeps): Promise<TargetAudit> {
  const nothing = { target, streams: [], files: [], unrepaired: [] }
  let gains: Gain[] = []
  try {
    const found = await look(target, deps)
    if (deps.repair !== undefined) gains = await repairAll(found, target, deps.repair)
    // Also after a failed repair: it may have shipped some events.
    const last = gains.length === 0 ? found : await look(target, deps)
    const gainOf = ({ sink }: { readonly sink: string }) => gains.find((gain) => gain.sink === sink)
    return {
      target,
      streams: last.streams.map((stream) => ({ ...stream, ...gainOf(stream)?.stream })),
      files: last.files.map(({ report }) => ({ ...report, ...gainOf(report)?.file })),
      unrepaired: unrepaired(gains),
    }
  } catch (error) {
    return { ...nothing, unrepaired: unrepaired(gains), failure: failureOf(error) }
  }
}

function unrepaired(gains: readonly Gain[]): TargetAudit['unrepaired'] {
  return gains.flatMap(({ sink, error }) => (error === undefined ? [] : [{ sink, why: error }]))
}

async function look(target: AuditTarget, deps: LookDeps): Promise<Found> {
  const { zone, day } = target
  const { files: filesDeps } = deps
  const files: FilesLooked[] = []
  for (const sink of target.sinks) {
    const stream = { zone: zone.id, day, sink }
    if (filesDeps?.sinks.has(sink) === true && (await filesDeps.isKnown(stream)))
      files.push(await filesDeps.audit(stream, zone))
  }
  try {
    return { ...(await deps.audit(target)), files }
  } catch (error) {
    // Files of a day that the API no longer lists can still be compared with the ledger.
    if (files.length === 0 || !isFailure(error, 'window_closed')) throw error
    return { streams: [], files, listing: error }
  }
}

/** What a repair did to one sink, for its reports, and the error that ended it. */
interface Gain {
  readonly sink: string
  readonly stream?: Pick<StreamAudit, 'repaired'>
  readonly file?: Pick<FileAudit, 'restored' | 'kept'>
  readonly error?: string
}

async function repairAll(found: Found, { zone, day, sinks }: AuditTarget, deps: RepairDeps): Promise<Gain[]> {
  const gains: Gain[] = []
  for (const sink of sinks) {
    const stream = { zone: zone.id, day, sink }
    const looked = found.files.find(({ report }) => report.sink === sink && isRepairable(report))
    const isMissing = found.streams.some((each) => each.sink === sink && !each.isEqual)
    if (looked === undefined && !isMissing) continue
    gains.push({ sink, ...(await repairOne({ stream, zone, looked, isMissing }, found.listing, deps)) })
  }
  return gains
}

interface Subject {
  readonly stream: Stream
  readonly zone: Zone
  readonly looked: FilesLooked | undefined
  readonly isMissing: boolean
}

/** First corrects what the store records about files, then ships all that is missing by one scan. */
async function repairOne(
  { stream, zone, looked, isMissing }: Subject,
  listing: Found['listing'],
  deps: RepairDeps,
): Promise<Omit<Gain, 'sink'>> {
  if (listing instanceof Error) return { error: listing.message }
  let gain: Omit<Gain, 'sink'> = {}
  try {
    const nothing = { unseen: 0, kept: 0 }
    const files = looked === undefined ? nothing : await deps.correct({ stream, zone, looked, listing })
    if (looked !== undefined) gain = { file: { restored: 0, kept: files.kept } }
    // Also where nothing is missing: opening the sink cuts what lies beyond the committed lengths.
    const shipped = await deps.ship(stream, zone)
    const restored = Math.min(files.unseen, shipped)
    return {
      ...(looked !== undefined && { file: { restored, kept: files.kept } }),
      ...(isMissing && { stream: { repaired: shipped - restored } }),
    }
  } catch (error) {
    return { ...gain, error: messageOf(failureOf(error)) }
  }
}

/** A stop and a bug do not become part of the report. */
function failureOf(error: unknown): Failure {
  if (!isFailure(error) || error.code === 'cancelled') throw error
  return error
}

/** A zone's day, which is read once and compared for all of these sinks. */
export interface AuditTarget {
  readonly zone: Zone
  readonly day: Day
  /** Names. */
  readonly sinks: readonly string[]
}

export interface TargetAudit {
  readonly target: AuditTarget
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FileAudit[]
  /** Why it could not be compared, or not compared again after a repair. */
  readonly failure?: Failure
  /** Sinks whose repair failed, with the reason. */
  readonly unrepaired: readonly { readonly sink: string; readonly why: string }[]
}

export interface AuditChoice {
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly days: readonly Day[]
  /** False: a day before the first one of a route was never to be shipped there, and is left out. */
  readonly areDaysNamed: boolean
}

/** What there is to compare, zone by zone. Throws the Failures of a store. */
export async function auditTargets(
  { zones, sinks, days, areDaysNamed }: AuditChoice,
  store: Pick<Store, 'catalogue' | 'ledger'>,
): Promise<AuditTarget[]> {
  const routes = areDaysNamed ? [] : await store.catalogue.routes()
  const firstDays = new Map(routes.map(({ zone, sink, firstDay }) => [`${zone} ${sink}`, firstDay]))

  async function isChosen(stream: Stream): Promise<boolean> {
    const firstDay = firstDays.get(`${stream.zone} ${stream.sink}`)
    if (firstDay === undefined || stream.day >= firstDay) return true
    // A backfill may have shipped it.
    return (await store.ledger.read(stream)) !== undefined
  }

  const targets: AuditTarget[] = []
  for (const zone of zones) {
    for (const day of days) {
      const chosen: string[] = []
      for (const sink of sinks) if (await isChosen({ zone: zone.id, day, sink })) chosen.push(sink)
      if (chosen.length > 0) targets.push({ zone, day, sinks: chosen })
    }
  }
  return targets
}

interface AuditDaysDeps {
  /** Throws only `cancelled`, and bugs. */
  audit(target: AuditTarget): Promise<TargetAudit>
  /** How many are compared at once. */
  readonly atOnce: number
  done(audited: TargetAudit): void
}

/**
 * Audits a few at once; one that cannot be compared does not stop the others. After `cancelled` it returns, and what
 * was not done by then is not reported.
 */
export async function auditDays(targets: readonly AuditTarget[], deps: AuditDaysDeps): Promise<void> {
  const accounts = new Accounts()
  await fewAtOnce(targets, deps.atOnce, async (target) => {
    const { account } = target.zone
    const failure = accounts.failureOf(account)
    try {
      const audited =
        failure === undefined
          ? await deps.audit(target)
          : { target, streams: [], files: [], unrepaired: [], failure }
      if (failure === undefined) accounts.note(account, audited.failure)
      deps.done(audited)
      return true
    } catch (error) {
      if (!isFailure(error, 'cancelled')) throw error
      return false
    }
  })
}

/** Minutes, events and lines that all reports of one audit name together. */
const mostDetails = 200_000
/** So many of each a report names in any case. */
const least = 20

/**
 * Bounds the memory of an audit of many streams that differ in all minutes: once the budget is used up, a report
 * keeps its counts and the first details only, and says so.
 */
export class DetailBudget {
  #left: number

  constructor(details = mostDetails) {
    this.#left = details
  }

  ofStream(stream: StreamAudit): StreamAudit {
    const minutes = this.#some(stream.minutes)
    const missingEvents = this.#some(stream.missingEvents)
    if (minutes === stream.minutes && missingEvents === stream.missingEvents) return stream
    return { ...stream, minutes, missingEvents, isShortened: true }
  }

  ofFile(file: FileAudit): FileAudit {
    const minutes = this.#some(file.minutes)
    const badLines = this.#some(file.badLines)
    if (minutes === file.minutes && badLines === file.badLines) return file
    return { ...file, minutes, badLines, isShortened: true }
  }

  #some<Detail>(details: readonly Detail[]): readonly Detail[] {
    const most = Math.max(least, this.#left)
    this.#left -= Math.min(details.length, most)
    return details.length <= most ? details : details.slice(0, most)
  }
}
