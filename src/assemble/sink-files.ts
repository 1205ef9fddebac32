import type { Event } from '../domain/event/event.ts'
import type { Zone, ZoneDay } from '../domain/stream.ts'
import type { Day } from '../domain/day.ts'
import type { Redactor } from '../shield/redaction/redact.ts'
import type { ArchivedPiece } from '../days/archived-events.ts'
import { type FormatName, servedBy, formats, tableFor } from '../formats/registry.ts'
import { eventOfLine } from '../shield/entries/to-event.ts'
import { committedLengths } from '../domain/checkpoint.ts'
import type { SinkConfig } from '../config/schema.ts'
import type { Pieces, SinkFiles } from '../ports/delivery.ts'
import { readArchive, readCommitted } from '../sinks/file/parts.ts'
import { compareParts } from '../sinks/file/compare.ts'
import { compareObjects, isCommitted, readObjects, type ObjectInStore } from '../sinks/objects/read.ts'
import type { ObjectSettings } from '../sinks/objects/settings.ts'
import { openStore, type StoreConfig, writesObjects } from '../sinks/stores.ts'
import type { Runtime } from './runtime.ts'
import { version } from './version.ts'

/** Kinds of sinks that keep lines which can be read again. */
export type PartsConfig = Extract<SinkConfig, { type: 'file' }> | StoreConfig

export function hasParts(sink: SinkConfig): sink is PartsConfig {
  return sink.type === 'file' || writesObjects(sink)
}

/** What a file sink has in its folder, or one of objects in its store, without what its lines mean. */
export interface Parts extends AsyncDisposable, Omit<SinkFiles, 'identify'> {
  /** All of a zone's day, whoever wrote it. */
  all(place: ZoneDay): Pieces
}

export function openParts(sink: PartsConfig, runtime: Runtime, signal: AbortSignal): Parts {
  if (sink.type === 'file') {
    const { path } = sink
    return {
      all: (place) => readArchive(path, place),
      committed: (place, _, { committed }) => readCommitted(path, place, committed),
      compare: (stream, storeId, checkpoint) =>
        compareParts(path, stream, committedLengths(storeId, checkpoint)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }
  const store = openStore(sink, { ...runtime, version })
  const { prefix, guarantee }: ObjectSettings = sink
  const mayRepeat = guarantee === 'at-least-once'
  const lake = { store, prefix, mayRepeat, tableFor }
  return {
    mayRepeat,
    all: (place) => readObjects(lake, place, () => true, signal),
    committed(place, storeId, of) {
      const named = new Set(of.committed.map(({ part }) => part))
      const isChosen = (object: ObjectInStore) => named.has(object.name) || isCommitted(object, storeId, of)
      return readObjects(lake, place, isChosen, signal)
    },
    compare: (stream, storeId, known, sizes) =>
      compareObjects(lake, stream, { storeId, known: known ?? {}, sizes }, signal),
    [Symbol.asyncDispose]: () => store.close(),
  }
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
