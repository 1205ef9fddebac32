import { committedLengths, type Checkpoint } from '../domain/checkpoint.ts'
import type { SinkConfig } from '../config/schema.ts'
import type { PartEnd, PartLines, PartReport } from '../domain/audit-report.ts'
import type { Stream } from '../domain/stream.ts'
import { readArchive, readCommitted } from '../sinks/file/parts.ts'
import { compareParts } from '../sinks/file/reconcile.ts'
import { createBucket } from '../sinks/s3/client.ts'
import { compareObjects, isCommitted, readObjects, type ObjectInBucket } from '../sinks/s3/read.ts'
import type { QuietRuntime } from './quiet-runtime.ts'
import { version } from './version.ts'

type Place = Pick<Stream, 'zone' | 'day'>
type Pieces = AsyncIterable<PartLines | PartEnd>

/** Kinds of sinks that keep lines which can be read again. */
export type PartsConfig = Extract<SinkConfig, { type: 'file' | 's3' }>

export function hasParts(sink: SinkConfig): sink is PartsConfig {
  return sink.type === 'file' || sink.type === 's3'
}

/** What a file sink has in its folder, or an s3 sink in its bucket. Only reads. Throws Failure. */
export interface Parts extends AsyncDisposable {
  /** The sink may ship an event twice. */
  readonly mayRepeat?: boolean
  /** All of a zone's day, whoever wrote it. */
  all(place: Place): Pieces
  /** Up to these committed lengths, or up to this number; objects are read whole that `committed` names. */
  committed(place: Place, storeId: string, of: Pick<Checkpoint, 'committed' | 'objectBytes'>): Pieces
  /** What differs from the checkpoint. */
  compare(stream: Stream, storeId: string, checkpoint: Checkpoint | undefined): Promise<readonly PartReport[]>
}

export function openParts(sink: PartsConfig, runtime: QuietRuntime, signal: AbortSignal): Parts {
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
  const bucket = createBucket(sink, { ...runtime, version })
  const mayRepeat = sink.guarantee === 'at-least-once'
  const lake = { bucket, prefix: sink.prefix, mayRepeat }
  return {
    mayRepeat,
    all: (place) => readObjects(lake, place, () => true, signal),
    committed(place, storeId, of) {
      const named = new Set(of.committed.map(({ part }) => part))
      const isChosen = (object: ObjectInBucket) => named.has(object.name) || isCommitted(object, storeId, of)
      return readObjects(lake, place, isChosen, signal)
    },
    compare: (stream, storeId, known) =>
      compareObjects(lake, stream, { storeId, known: known ?? {} }, signal),
    [Symbol.asyncDispose]: () => bucket.close(),
  }
}
