import { isFailure, messageOf } from '../domain/failure.ts'
import type { Day } from '../domain/day.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import type { FilesLooked } from './audit-files.ts'
import type { FileAudit, StreamAudit } from './audit-report.ts'
import type { Restored } from './restore-lines.ts'

export interface AuditDaysDeps {
  /** Throws a Failure when it could not look. */
  audit(zone: Zone, day: Day): Promise<readonly StreamAudit[]>
  /** Ships what a stream lacks; returns how many events that were. Throws Failure. Absent: nothing is repaired. */
  repair?(stream: Stream, zone: Zone): Promise<number>
  /** Reads what stands in files, where that is asked for. */
  readonly files?: FilesDeps
}

export interface FilesDeps {
  /** Sinks that keep files. */
  readonly sinks: readonly string[]
  /** Throws a Failure when it could not look. */
  audit(stream: Stream, zone: Zone): Promise<FilesLooked>
  /** Brings back what files have lost. Throws Failure. Absent: nothing is repaired. */
  restore?(looked: FilesLooked, zone: Zone): Promise<Restored>
}

export interface DaysAudit {
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FileAudit[]
  /** Where it could not look, or not look again, and why. */
  readonly blind: readonly string[]
  readonly unrepaired: readonly string[]
}

interface Found {
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FilesLooked[]
  /** Why the API could not be asked; files alone were looked at. */
  readonly unlisted?: string
}

/** One zone after another; a zone that cannot be looked at does not keep the others from it. Throws `cancelled`. */
export async function auditDays(zones: readonly Zone[], day: Day, deps: AuditDaysDeps): Promise<DaysAudit> {
  const streams: StreamAudit[] = []
  const files: FileAudit[] = []
  const blind: string[] = []
  const unrepaired: string[] = []
  for (const zone of zones) {
    try {
      const found = await look(zone, day, deps)
      const gains = await repairAll(found, zone, deps, unrepaired)
      // Also after a repair that failed: it may have shipped some.
      const last = gains.length === 0 ? found : await look(zone, day, deps)
      streams.push(...last.streams.map((stream) => withGain(stream, gains)))
      files.push(...last.files.map(({ report }) => withRestored(report, gains)))
    } catch (error) {
      blind.push(`zone ${zone.id} on ${day} could not be looked at: ${reasonOf(error)}`)
    }
  }
  return { streams, files, blind, unrepaired }
}

async function look(zone: Zone, day: Day, deps: AuditDaysDeps): Promise<Found> {
  const files: FilesLooked[] = []
  for (const sink of deps.files?.sinks ?? [])
    files.push(await deps.files!.audit({ zone: zone.id, day, sink }, zone))
  try {
    return { streams: await deps.audit(zone, day), files }
  } catch (error) {
    // What the API shows no more can still be compared with the ledger.
    if (files.length === 0 || !isFailure(error, 'window_closed')) throw error
    return { streams: [], files, unlisted: error.message }
  }
}

interface Gain {
  readonly sink: string
  readonly events?: number
  readonly lines?: Restored
}

/** Files first: a line that is there already is not to be shipped once more. */
async function repairAll(
  { streams, files, unlisted }: Found,
  zone: Zone,
  { repair, files: filesDeps }: AuditDaysDeps,
  unrepaired: string[],
): Promise<Gain[]> {
  const gains: Gain[] = []
  const attempt = async (sink: string, day: Day, work: () => Promise<Omit<Gain, 'sink'>>) => {
    try {
      gains.push({ sink, ...(await work()) })
    } catch (error) {
      gains.push({ sink })
      unrepaired.push(`zone ${zone.id} on ${day} → ${sink} was not repaired: ${reasonOf(error)}`)
    }
  }
  const restore = filesDeps?.restore
  for (const looked of restore === undefined ? [] : files) {
    const { sink, day, isEqual } = looked.report
    if (isEqual) continue
    if (unlisted === undefined)
      await attempt(sink, day, async () => ({ lines: await restore!(looked, zone) }))
    else unrepaired.push(`zone ${zone.id} on ${day} → ${sink} was not repaired: ${unlisted}`)
  }
  for (const { isEqual, sink, day } of repair === undefined ? [] : streams)
    if (!isEqual)
      await attempt(sink, day, async () => ({ events: await repair!({ zone: zone.id, day, sink }, zone) }))
  return gains
}

function withGain(stream: StreamAudit, gains: readonly Gain[]): StreamAudit {
  const gain = gains.find(({ sink, events }) => sink === stream.sink && events !== undefined)
  return gain?.events === undefined ? stream : { ...stream, repaired: gain.events }
}

function withRestored(report: FileAudit, gains: readonly Gain[]): FileAudit {
  const gain = gains.find(({ sink, lines }) => sink === report.sink && lines !== undefined)
  return gain?.lines === undefined ? report : { ...report, ...gain.lines }
}

/** A stop and a bug are nobody's report. */
function reasonOf(error: unknown): string {
  if (!isFailure(error) || error.code === 'cancelled') throw error
  return messageOf(error)
}
