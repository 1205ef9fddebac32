import {
  countMinute,
  packFingerprints,
  unpackFingerprints,
  type MinuteCount,
} from '../../domain/event/seen.ts'
import type { Clock } from '../../ports/process.ts'
import type { Commit, Ledger, Upkeep } from '../../ports/store.ts'
import type { Database } from './database/database.ts'
import { addChunks, loadMinute, refuseDamaged } from './database/chunks.ts'
import { findStream, keptUntil, nextSeen } from './streams.ts'

export interface Fingerprints {
  readonly loadSeen: Ledger['loadSeen']
  readonly minutes: Ledger['minutes']
  readonly isIndexDropped: Ledger['isIndexDropped']
  /** Only marks them as dropped; `reclaim` deletes them later. */
  readonly forget: Upkeep['dropIndex']
}

export function createFingerprints(database: Database, clock: Clock): Fingerprints {
  return {
    loadSeen: (stream, minutes) =>
      database.read(() => {
        const found = new Map<number, Uint8Array>()
        const seen = findStream(database, stream)?.seen
        if (seen === undefined) return found
        for (const minute of new Set(minutes)) {
          const bytes = loadMinute(database, seen, minute)
          if (bytes !== undefined) found.set(minute, bytes)
        }
        return found
      }),
    minutes: (stream) =>
      database.read(() => {
        const id = findStream(database, stream)?.id
        if (id === undefined) return []
        return database
          .all<MinuteRow>('SELECT minute, count, hash FROM minute WHERE stream = ? ORDER BY minute', id)
          .map(({ minute, count, hash }) => ({ minute, count, hash: unpackFingerprints(hash)[0] ?? 0n }))
      }),
    isIndexDropped: (stream) => database.read(() => findStream(database, stream)?.is_index_dropped === 1),
    forget: (stream) =>
      database.write(() => {
        const row = findStream(database, stream)
        if (row === undefined) return true
        if (row.holder !== null && keptUntil(database, row.holder, clock.now()) !== undefined) return false
        database.run('INSERT INTO dropped (seen) VALUES (?)', row.seen)
        const sql = `UPDATE stream SET seen = ?,
          is_index_dropped = EXISTS (SELECT 1 FROM minute WHERE stream = stream.id) WHERE id = ?`
        database.run(sql, nextSeen(database), row.id)
        return true
      }),
  }
}

interface MinuteRow {
  minute: number
  count: number
  hash: Uint8Array
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

/** Removes fingerprints, or all, and their counts; returns where others are to be added. Inside of a write. */
export function unseen(
  database: Database,
  owner: { readonly id: number; readonly seen: number },
  removed: Commit['unsee'],
): { readonly id: number; readonly seen: number } {
  if (removed !== 'all') {
    removeSeen(database, owner, removed ?? new Map())
    return owner
  }
  const seen = nextSeen(database)
  database.run('INSERT INTO dropped (seen) VALUES (?)', owner.seen)
  database.run('UPDATE stream SET seen = ? WHERE id = ?', seen, owner.id)
  database.run('DELETE FROM minute WHERE stream = ?', owner.id)
  return { id: owner.id, seen }
}

/** Removes packed fingerprints from a stream's minutes and from their counts. Inside of a write. */
function removeSeen(
  database: Database,
  owner: { readonly id: number; readonly seen: number },
  removed: ReadonlyMap<number, Uint8Array>,
): void {
  for (const [minute, bytes] of removed) {
    refuseDamaged(minute, bytes)
    const gone = new Set(unpackFingerprints(bytes))
    const held = unpackFingerprints(loadMinute(database, owner.seen, minute) ?? new Uint8Array())
    const kept = held.filter((fingerprint) => !gone.has(fingerprint))
    if (kept.length === held.length) continue
    database.run('DELETE FROM chunk WHERE seen = ? AND minute = ?', owner.seen, minute)
    database.run('DELETE FROM minute WHERE stream = ? AND minute = ?', owner.id, minute)
    addSeen(database, owner, new Map([[minute, packFingerprints(kept)]]))
  }
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
