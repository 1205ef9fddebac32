import { createHash } from 'node:crypto'
import { Failure } from '../../domain/failure.ts'
import type { Clock, Commit } from '../../ports.ts'
import type { Database } from './database.ts'
import { addLetters, letterBytes, removeLetter } from './dead-letters.ts'
import { addSeen } from './fingerprints.ts'
import { insertGaps } from './gaps.ts'
import { findStream } from './streams.ts'

export interface CommitLimits {
  readonly deadLetterMaxBytes: number
}

export function createCommits({ deadLetterMaxBytes }: CommitLimits, database: Database, clock: Clock) {
  return async function commit(commit: Commit): Promise<'done' | 'refused'> {
    const { next, basedOn } = commit
    if (next.commit !== basedOn + 1)
      throw new RangeError(`a commit based on ${basedOn} must be number ${basedOn + 1}, not ${next.commit}`)
    const hash = hashOf(commit)
    return database.write(() => {
      const row = findStream(database, next.stream)
      if (row === undefined) return 'refused'
      if (row.commit_hash !== null && hash.equals(row.commit_hash)) return 'done'
      if (row.fence !== commit.fence || row.commit_number !== basedOn) return 'refused'
      changeDeadLetters(database, commit, deadLetterMaxBytes)
      addSeen(database, row, commit.seen)
      insertGaps(database, commit.gaps)
      const { stream: _, ...body } = next
      database.run('INSERT OR REPLACE INTO checkpoint VALUES (?, ?)', row.id, JSON.stringify(body))
      const sql = 'UPDATE stream SET commit_number = ?, commit_hash = ?, ended_at = ? WHERE id = ?'
      database.run(sql, next.commit, hash, next.ended?.atMs ?? null, row.id)
      database.run('UPDATE holder SET heard_at = ? WHERE id = ?', clock.now(), row.holder)
      return 'done'
    })
  }
}

function changeDeadLetters(database: Database, commit: Commit, maxBytes: number): void {
  const { deadLetters, removedLetters = [], next } = commit
  if (deadLetters.length === 0 && removedLetters.length === 0) return
  const before = letterBytes(database)
  for (const { id, time } of removedLetters)
    removeLetter(database, { ...next.stream, id, ...(time !== undefined && { time }) })
  addLetters(database, deadLetters)
  const after = letterBytes(database)
  if (after <= maxBytes || after <= before) return
  const text = `the dead letters would take ${after} bytes, and ${maxBytes} are allowed`
  const remedy = 'replay or drop some, or raise deadLetters.maxBytes'
  throw new Failure('stop', 'dead_letters_full', `${text}: ${remedy}`)
}

/**
 * Fence and number alone would not tell two commits apart: after a lost answer the same pump may build another one on
 * the same checkpoint, and "done" would then be wrong.
 */
function hashOf(commit: Commit): Buffer {
  const { fence, basedOn, next, seen, deadLetters, removedLetters = [], gaps } = commit
  const hash = createHash('sha256')
  const minutes = [...seen].sort(([a], [b]) => a - b)
  const sizes = minutes.map(([minute, bytes]) => [minute, bytes.byteLength])
  hash.update(JSON.stringify([fence, basedOn, next, deadLetters, removedLetters, gaps, sizes]))
  for (const [, bytes] of minutes) hash.update(bytes)
  return hash.digest()
}
