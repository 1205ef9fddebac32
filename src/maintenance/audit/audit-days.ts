import { isFailure, messageOf } from '../../domain/failure.ts'
import type { Day } from '../../domain/day.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import type { FilesLooked } from './audit-files.ts'
import type { DayAudit } from './audit-day.ts'
import type { FileAudit, StreamAudit } from './audit-report.ts'
import type { DayListing } from './day-listing.ts'
import type { FilesRepair, FilesRepaired } from './repair-files.ts'

export interface AuditDaysDeps {
  /** Throws a Failure when it could not compare. */
  audit(zone: Zone, day: Day): Promise<DayAudit>
  /** Compares the lines of files, where that is requested. */
  readonly files?: FilesDeps
  /** Absent: nothing is repaired. */
  readonly repair?: RepairDeps
}

export interface FilesDeps {
  /** Sinks that keep files. */
  readonly sinks: readonly string[]
  /** Throws a Failure when it could not compare. */
  audit(stream: Stream, zone: Zone): Promise<FilesLooked>
}

export interface RepairDeps {
  /** Corrects what the store records about files. Throws Failure. */
  correct(repair: FilesRepair): Promise<FilesRepaired>
  /** Ships the events that a stream lacks; returns their number. Throws Failure. */
  ship(stream: Stream, zone: Zone): Promise<number>
}

export interface DaysAudit {
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FileAudit[]
  /** Why a zone could not be compared, or not compared again after a repair. */
  readonly blind: readonly string[]
  readonly unrepaired: readonly string[]
}

interface Found {
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FilesLooked[]
  /** What the API lists, or why it could not be read: then only files were compared. */
  readonly listing: DayListing | string
}

/** Audits one zone after another; a zone that cannot be compared does not stop the others. Throws `cancelled`. */
export async function auditDays(zones: readonly Zone[], day: Day, deps: AuditDaysDeps): Promise<DaysAudit> {
  const streams: StreamAudit[] = []
  const files: FileAudit[] = []
  const blind: string[] = []
  const unrepaired: string[] = []
  for (const zone of zones) {
    try {
      const found = await look(zone, day, deps)
      const gains = deps.repair === undefined ? [] : await repairAll(found, zone, day, deps.repair)
      // Also after a failed repair: it may have shipped some events.
      const last = gains.length === 0 ? found : await look(zone, day, deps)
      const gainOf = ({ sink }: { readonly sink: string }) => gains.find((gain) => gain.sink === sink)
      for (const { sink, error } of gains)
        if (error !== undefined)
          unrepaired.push(`zone ${zone.id} on ${day} → ${sink} was not repaired: ${error}`)
      streams.push(...last.streams.map((stream) => ({ ...stream, ...gainOf(stream)?.stream })))
      files.push(...last.files.map(({ report }) => ({ ...report, ...gainOf(report)?.file })))
    } catch (error) {
      blind.push(`zone ${zone.id} on ${day} could not be audited: ${reasonOf(error)}`)
    }
  }
  return { streams, files, blind, unrepaired }
}

async function look(zone: Zone, day: Day, deps: AuditDaysDeps): Promise<Found> {
  const files: FilesLooked[] = []
  for (const sink of deps.files?.sinks ?? [])
    files.push(await deps.files!.audit({ zone: zone.id, day, sink }, zone))
  try {
    return { ...(await deps.audit(zone, day)), files }
  } catch (error) {
    // Files of a day that the API no longer lists can still be compared with the ledger.
    if (files.length === 0 || !isFailure(error, 'window_closed')) throw error
    return { streams: [], files, listing: error.message }
  }
}

/** What a repair did to one sink, for its reports, and the error that ended it. */
interface Gain {
  readonly sink: string
  readonly stream?: Pick<StreamAudit, 'repaired'>
  readonly file?: Pick<FileAudit, 'restored' | 'kept'>
  readonly error?: string
}

async function repairAll(found: Found, zone: Zone, day: Day, deps: RepairDeps): Promise<Gain[]> {
  const gains: Gain[] = []
  for (const sink of new Set([
    ...found.files.map(({ report }) => report.sink),
    ...found.streams.map((s) => s.sink),
  ])) {
    const stream = { zone: zone.id, day, sink }
    const looked = found.files.find(({ report }) => report.sink === sink && !report.isEqual)
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
  if (typeof listing === 'string') return { error: listing }
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
    return { ...gain, error: reasonOf(error) }
  }
}

/** A stop and a bug do not become part of the report. */
function reasonOf(error: unknown): string {
  if (!isFailure(error) || error.code === 'cancelled') throw error
  return messageOf(error)
}
