import type { Clock } from '../../ports/process.ts'
import type { Commit } from '../../ports/store.ts'
import { hashOf, deadLettersFull, refuseImpossible } from '../commit-checks.ts'
import { settleBackfilled } from './backfills.ts'
import { nextChange } from './changes.ts'
import type { Database } from './database/database.ts'
import { addDeadLetters, deadLetterBytesOf, removeDeadLetter } from './dead-letters.ts'
import { addSeen, unseen } from './fingerprints.ts'
import { insertGaps } from './gaps.ts'
import { findStream, readCheckpoint } from './streams.ts'

export interface CommitLimits {
  /** Of each sink. */
  readonly deadLetterMaxBytes: number
}

export function createCommits({ deadLetterMaxBytes }: CommitLimits, database: Database, clock: Clock) {
  return async function commit(commit: Commit): Promise<'done' | 'refused'> {
    refuseImpossible(commit)
    const { next, basedOn } = commit
    const hash = hashOf(commit)
    const write = () => {
      const row = findStream(database, next.stream)
      if (row === undefined) return 'refused'
      if (row.commit_hash !== null && hash.equals(row.commit_hash)) return 'done'
      if (row.fence !== commit.fence || row.commit_number !== basedOn) return 'refused'
      changeDeadLetters(database, commit, deadLetterMaxBytes)
      addSeen(database, unseen(database, row, commit.unsee), commit.seen)
      insertGaps(database, commit.gaps)
      settleBackfilled(database, next)
      const { stream: _, ...body } = next
      database.run('INSERT OR REPLACE INTO checkpoint VALUES (?, ?)', row.id, JSON.stringify(body))
      const sql =
        'UPDATE stream SET commit_number = ?, commit_hash = ?, ended_at = ?, changed = ? WHERE id = ?'
      database.run(sql, next.commit, hash, next.ended?.atMs ?? null, nextChange(database), row.id)
      database.run('UPDATE holder SET heard_at = ? WHERE id = ?', clock.now(), row.holder)
      return 'done'
    }
    return database.writeTogether(write, () => isReadAgain(database, commit))
  }
}

/** True for a commit that says only how far a scan is: if a power cut loses it, pages are read again. */
function isReadAgain(database: Database, commit: Commit): boolean {
  const { seen, unsee = new Map(), deadLetters, removedDeadLetters = [], gaps, next } = commit
  const changes = seen.size + deadLetters.length + removedDeadLetters.length + gaps.length
  const isEmpty = changes === 0 && unsee !== 'all' && unsee.size === 0
  return isEmpty && next.ended === undefined && !answersRequest(database, next)
}

function answersRequest(database: Database, { stream, lastRequest }: Commit['next']): boolean {
  if (lastRequest === undefined) return false
  const row = findStream(database, stream)
  return row === undefined || readCheckpoint(database, row.id, stream)?.lastRequest?.id !== lastRequest.id
}

function changeDeadLetters(database: Database, commit: Commit, maxBytes: number): void {
  const { deadLetters, removedDeadLetters = [], next } = commit
  if (deadLetters.length === 0 && removedDeadLetters.length === 0) return
  const before = deadLetterBytesOf(database, next.stream.sink)
  for (const { id, time } of removedDeadLetters)
    removeDeadLetter(database, { ...next.stream, id, ...(time !== undefined && { time }) })
  addDeadLetters(database, deadLetters)
  const after = deadLetterBytesOf(database, next.stream.sink)
  if (after > maxBytes && after > before) throw deadLettersFull(next.stream.sink, after, maxBytes)
}
