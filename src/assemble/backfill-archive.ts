import { randomUUID } from 'node:crypto'
import type { Config, SinkConfig } from '../config/schema.ts'
import type { Day } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import type { Zone } from '../domain/stream.ts'
import { formats, servedBy, type FormatName } from '../formats/registry.ts'
import { shipArchive, type ArchiveDeps, type ArchivedPiece } from '../maintenance/archive/ship-archived.ts'
import type { BackfillRequest } from '../maintenance/backfill/backfill-plan.ts'
import { eventOfLine } from '../shield/entries/to-event.ts'
import { createRedactor, type Redactor } from '../shield/redaction/redact.ts'
import { maxAgeHoursIn } from './backfill.ts'
import { refuseHeld, rememberSinks } from './held-sinks.ts'
import { openParts, type Parts, type PartsConfig } from './parts.ts'
import { openWork } from './work.ts'

export interface ArchiveRequest extends Pick<BackfillRequest, 'zones' | 'from' | 'to'> {
  readonly source: PartsConfig
  readonly sinks: readonly SinkConfig[]
}

/** Ships days from the parts of a file or s3 sink in this process, beside any other. Throws `cancelled` and the Failures of a store. */
export async function backfillFromArchive(
  config: Config,
  request: ArchiveRequest,
  settled: ArchiveDeps['settled'],
  signal: AbortSignal,
): Promise<void> {
  await using work = await openWork(config, { store: 'created' }, signal)
  const { store } = work
  const { sinks, deps } = await work.shipping()
  const names = request.sinks.map(({ name }) => name)
  await refuseHeld(config, store, names)
  await rememberSinks({ sinks: request.sinks }, store)
  const redactor = createRedactor(config.redact)
  const targets = new Map(request.sinks.map(({ name, format }) => [name, format]))
  const job = { ...request, source: request.source.name, sinks: names.map((name) => sinks.get(name)!) }
  await using parts = openParts(request.source, work.runtime, signal)
  const archive = {
    settled,
    pump: deps,
    maxAgeHoursOf: maxAgeHoursIn(config),
    requestId: randomUUID,
    read: (sink: string, zone: Zone, day: Day) =>
      piecesOf(request.source, parts, targets.get(sink)!, { zone, day }, redactor),
  }
  await work.beating(() => shipArchive(job, archive, signal))
}

/** Formats whose lines keep enough of an event. */
const kept: readonly FormatName[] = ['native', 'raw']

/** The lines of a zone's day in the parts of a sink, as events that serve a sink of the target format. */
export async function* piecesOf(
  source: PartsConfig,
  parts: Pick<Parts, 'all'>,
  target: FormatName,
  { zone, day }: { readonly zone: Zone; readonly day: Day },
  redactor: Redactor,
): AsyncGenerator<ArchivedPiece> {
  // Parts may hold lines of a format that the sink had before.
  const readers = [...new Set([source.format, ...kept])]
    .filter((format) => servedBy(format === source.format ? source : { format }).includes(target))
    .map((format) => formats[format]())
  function eventOf(line: string): Event | undefined {
    for (const reader of readers) {
      const kept = reader.readBack?.(line)
      if (kept === undefined) continue
      return kept.zone === zone.id ? eventOfLine(kept, { id: zone.id, name: zone.name }, redactor) : undefined
    }
    return undefined
  }
  for await (const piece of parts.all({ zone: zone.id, day }))
    yield 'lines' in piece ? { ...piece, lines: piece.lines.map(eventOf) } : piece
}
