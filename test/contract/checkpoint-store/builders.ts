import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import type { Cursor } from '../../../src/domain/scan/page.ts'
import { packFingerprints } from '../../../src/domain/event/seen.ts'
import type { Gap, Stream } from '../../../src/domain/stream.ts'
import { newCheckpoint } from '../../../src/domain/checkpoint.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { dayAt } from '../../domain/builders.ts'
import type { Commit, Holder, Store } from '../../../src/ports/store.ts'

export function buildStream(stream: Partial<Stream> = {}): Stream {
  return { zone: 101, day: dayAt('2026-11-20'), sink: 'archive', ...stream }
}

/** What `prune` leaves alone besides the streams that it is told. */
export const nothingOld = { uncommittedBefore: dayAt('2000-01-01'), gapsBefore: 0 }

/** Of a checkpoint whose day is complete. */
export const complete = { ended: { as: 'complete', atMs: 5 } } as const

export function buildHolder(id: string, schedule = false): Holder {
  return { id, schedule }
}

export function buildCheckpoint(stream: Stream, commit: number, more: Partial<Checkpoint> = {}): Checkpoint {
  return {
    ...newCheckpoint(stream, 1_795_000_000_000, unknownOrdering),
    commit,
    storedCursors: [{ cursor: 'a/b=?%' as Cursor, newestMs: 1_795_000_000_001 }],
    mark: ['00000000000000ff'],
    committed: [{ writer: 'w1', part: '0001-k3v9.ndjson', bytes: 525 * commit, lines: commit }],
    ...more,
  }
}

export function buildCommit(
  stream: Stream,
  fence: number,
  basedOn: number,
  more: Partial<Commit> = {},
): Commit {
  const next = buildCheckpoint(stream, basedOn + 1)
  return { fence, basedOn, next, seen: new Map(), deadLetters: [], gaps: [], ...more }
}

/** What one pump does: takes the stream, commits on its checkpoint, and releases it. Returns its fence. */
export async function commitOnce(
  { ledger }: Store,
  stream: Stream,
  { with: more = {}, ...rest }: Partial<Commit> & { readonly with?: Partial<Checkpoint> } = {},
): Promise<number> {
  const { fence, checkpoint } = await ledger.take(stream, buildHolder('one'))
  const based = checkpoint?.commit ?? 0
  const next = buildCheckpoint(stream, based + 1, more)
  try {
    const answer = await ledger.commit(buildCommit(stream, fence, based, { next, ...rest }))
    if (answer !== 'done') throw new Error(`a commit was ${answer}`)
  } finally {
    await ledger.release(stream, fence)
  }
  return fence
}

export function buildGap(gap: Partial<Gap> = {}): Gap {
  return {
    zone: 101,
    sink: 'archive',
    day: dayAt('2026-11-10'),
    from: 1_794_000_000_000,
    to: 1_794_086_400_000,
    reason: 'not_running',
    recordedAt: 1_795_000_000_000,
    ...gap,
  }
}

export function buildDeadLetter(deadLetter: Partial<DeadLetter> = {}): DeadLetter {
  return {
    zone: 101,
    day: dayAt('2026-11-20'),
    sink: 'archive',
    id: 'e1',
    reason: 'refused',
    answer: 'HTTP 400',
    at: 1_795_000_000_000,
    event: '{"id":"e1"}',
    ...deadLetter,
  }
}

/** Fingerprints `from` to `from + count - 1`, packed. */
export function packed(from: number, count: number): Uint8Array {
  return packFingerprints(Array.from({ length: count }, (_, index) => BigInt(from + index)))
}
