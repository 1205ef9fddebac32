import { countMinute, packFingerprints, unpackFingerprints, type MinuteCount } from '../../domain/seen.ts'
import type { CheckpointStore } from '../../ports.ts'
import type { Database } from './database.ts'
import { againOf, countAgain, dropAgain } from './shipped-again.ts'
import { findStream, nextSeen } from './streams.ts'

/** Why 980: see the layout. */
const chunkBytes = 980

export interface Fingerprints {
  readonly loadSeen: CheckpointStore['loadSeen']
  readonly ledger: CheckpointStore['ledger']
  /** Only names them as dropped; they are cleared away later. */
  readonly forget: CheckpointStore['forgetFingerprints']
}

export function createFingerprints(database: Database): Fingerprints {
  return {
    loadSeen: (stream, minutes, of = 'delivered') =>
      database.read(() => {
        const found = new Map<number, Uint8Array>()
        const row = findStream(database, stream)
        const seen = row === undefined || of === 'delivered' ? row?.seen : againOf(database, row.id)
        if (seen === undefined) return found
        for (const minute of new Set(minutes)) {
          const bytes = loadMinute(database, seen, minute)
          if (bytes !== undefined) found.set(minute, bytes)
        }
        return found
      }),
    ledger: (stream, of = 'delivered') =>
      database.read(() => {
        const id = findStream(database, stream)?.id
        if (id === undefined) return []
        if (of === 'again') return countAgain(database, id)
        return database
          .all<MinuteRow>('SELECT minute, count, hash FROM minute WHERE stream = ? ORDER BY minute', id)
          .map(({ minute, count, hash }) => ({ minute, count, hash: unpackFingerprints(hash)[0] ?? 0n }))
      }),
    forget: (stream) =>
      database.write(() => {
        const row = findStream(database, stream)
        if (row === undefined) return
        database.run('INSERT INTO dropped (seen) VALUES (?)', row.seen)
        database.run('UPDATE stream SET seen = ? WHERE id = ?', nextSeen(database), row.id)
        dropAgain(database, row.id)
      }),
  }
}

interface MinuteRow {
  minute: number
  count: number
  hash: Uint8Array
}

export function loadMinute(database: Database, seen: number, minute: number): Uint8Array | undefined {
  const sql = 'SELECT bytes FROM chunk WHERE seen = ? AND minute = ? ORDER BY id'
  const chunks = database.all<{ bytes: Uint8Array }>(sql, seen, minute)
  if (chunks.length <= 1) return chunks[0]?.bytes
  return concat(chunks.map(({ bytes }) => bytes))
}

/** Adds packed fingerprints to a stream's minutes and to their counts. Inside of a write. */
export function addSeen(
  database: Database,
  owner: { readonly id: number; readonly seen: number },
  added: ReadonlyMap<number, Uint8Array>,
): void {
  for (const [minute, bytes] of added) {
    refuseDamaged(minute, bytes)
    if (bytes.byteLength === 0) continue
    addCount(database, owner.id, countMinute(minute, bytes))
    addChunks(database, owner.seen, minute, bytes)
  }
}

export function refuseDamaged(minute: number, bytes: Uint8Array): void {
  if (bytes.byteLength % 8 === 0 && Number.isSafeInteger(minute)) return
  throw new RangeError(`fingerprints of minute ${minute} have ${bytes.byteLength} bytes, not a multiple of 8`)
}

function addCount(database: Database, stream: number, added: MinuteCount): void {
  const sql = 'SELECT minute, count, hash FROM minute WHERE stream = ? AND minute = ?'
  const known = database.one<MinuteRow>(sql, stream, added.minute)
  const before = known === undefined ? 0n : (unpackFingerprints(known.hash)[0] ?? 0n)
  database.run(
    'INSERT OR REPLACE INTO minute (stream, minute, count, hash) VALUES (?, ?, ?, ?)',
    stream,
    added.minute,
    (known?.count ?? 0) + added.count,
    packFingerprints([BigInt.asUintN(64, before + added.hash)]),
  )
}

export function addChunks(database: Database, seen: number, minute: number, bytes: Uint8Array): void {
  const sql = 'SELECT id, bytes FROM chunk WHERE seen = ? AND minute = ? ORDER BY id DESC LIMIT 1'
  const last = database.one<{ id: number; bytes: Uint8Array }>(sql, seen, minute)
  const room = last === undefined ? 0 : Math.max(0, chunkBytes - last.bytes.byteLength)
  if (last !== undefined && room > 0) {
    const filled = concat([last.bytes, bytes.subarray(0, room)])
    database.run('UPDATE chunk SET bytes = ? WHERE id = ?', filled, last.id)
  }
  for (let from = room; from < bytes.byteLength; from += chunkBytes) {
    const chunk = bytes.subarray(from, from + chunkBytes)
    database.run('INSERT INTO chunk (seen, minute, bytes) VALUES (?, ?, ?)', seen, minute, chunk)
  }
}

/** A plain array, not a Buffer: values of a store look alike whatever their size. */
function concat(chunks: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const chunk of chunks) length += chunk.byteLength
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}
