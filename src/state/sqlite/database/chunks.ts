import type { Database } from './database.ts'

/** `layout.ts` gives the reason for 980. */
const chunkBytes = 980

/** Packed fingerprints of one minute; undefined without any. Inside of a read. */
export function loadMinute(database: Database, seen: number, minute: number): Uint8Array | undefined {
  const sql = 'SELECT bytes FROM chunk WHERE seen = ? AND minute = ? ORDER BY id'
  const chunks = database.all<{ bytes: Uint8Array }>(sql, seen, minute)
  if (chunks.length <= 1) return chunks[0]?.bytes
  return concat(chunks.map(({ bytes }) => bytes))
}

/** Inside of a write. */
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

/** A plain array, not a Buffer: stores return the same type for every size. */
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

export function refuseDamaged(minute: number, bytes: Uint8Array): void {
  if (bytes.byteLength % 8 === 0 && Number.isSafeInteger(minute)) return
  throw new RangeError(`fingerprints of minute ${minute} have ${bytes.byteLength} bytes, not a multiple of 8`)
}
