import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import type { FilesLooked } from './audit-files.ts'
import type { DayAudit } from './audit-day.ts'
import { isRepairable, type FileAudit, type StreamAudit } from '../../domain/audit-report.ts'
import type { AuditTarget, TargetAudit } from './audit-target.ts'
import type { DayListing } from './day-listing.ts'
import type { FilesRepair, FilesRepaired } from './repair-files.ts'

export interface LookDeps {
  /** Throws a Failure when it could not compare. */
  audit(target: AuditTarget): Promise<DayAudit>
  /** Compares the lines of files, where that is requested. */
  readonly files?: FilesDeps
  /** Absent: nothing is repaired. */
  readonly repair?: RepairDeps
}

export interface FilesDeps {
  /** Sinks that keep files. */
  readonly sinks: ReadonlySet<string>
  /** Whether the state knows the stream: without a ledger there is nothing to compare lines with. */
  isKnown(stream: Stream): Promise<boolean>
  /** Throws a Failure when it could not compare. */
  audit(stream: Stream, zone: Zone): Promise<FilesLooked>
}

export interface RepairDeps {
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
