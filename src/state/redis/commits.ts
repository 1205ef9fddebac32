import type { Checkpoint } from '../../domain/checkpoint.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Commit } from '../../ports/store.ts'
import { hashOf, deadLettersFull, refuseImpossible } from '../commit-checks.ts'
import { backfilledText } from './backfills.ts'
import { listOf, numberOf, textOf } from './server/answer.ts'
import { deadLetterArguments, deadLetterField } from './dead-letters.ts'
import { gapArguments } from './gaps.ts'
import type { Keys } from './keys.ts'
import type { Argument, Link } from './server/link.ts'
import { bucketBytes, chunkBytes, seenArguments } from './seen-fields.ts'
import { writeCheckpoint, type Instant } from './streams.ts'

export interface CommitLimits {
  /** Of each sink. */
  readonly deadLetterMaxBytes: number
}

/** Enough to distinguish two commits of one stream. */
const hashLength = 20

export function createCommits(limits: CommitLimits, link: Link, keys: Keys, instant: Instant) {
  return async function commit(commit: Commit): Promise<'done' | 'refused'> {
    refuseImpossible(commit)
    const { stream, lastRequest } = commit.next
    const { head, checkpoint, seen, ledger, deadLetters } = keys.of(stream)
    const shared = [keys.meta, keys.streams, keys.holders, keys.deadLetters, keys.gaps]
    const asked = [keys.backfills, keys.backfill(lastRequest?.id ?? '')]
    const all = [...shared, head, checkpoint, seen, ledger, deadLetters, ...asked]
    const args = argumentsOf(commit, limits, instant())
    const answer = listOf(await link.script('commit-page', all, args))
    const word = textOf(answer[0])
    if (word === 'full') throw deadLettersFull(stream.sink, numberOf(answer[1]), limits.deadLetterMaxBytes)
    return word === 'done' ? 'done' : 'refused'
  }
}

/** The backfill whose read request the stream has answered, and the stream's value there; empty without one. */
function answerArguments({ lastRequest }: Checkpoint): Argument[] {
  if (lastRequest === undefined) return ['', '']
  const { id, outcome, reason } = lastRequest
  return [id, backfilledText({ state: outcome, ...(reason !== undefined && { reason }) })]
}

function argumentsOf(commit: Commit, limits: CommitLimits, now: string): Argument[] {
  const { fence, basedOn, next, seen, unsee = new Map(), deadLetters, removedDeadLetters = [], gaps } = commit
  const [buckets, ...added] = seenArguments(next.stream.day, seen)
  const [, ...takenOut] = seenArguments(next.stream.day, unsee === 'all' ? new Map() : unsee)
  return [
    streamKey(next.stream),
    fence,
    basedOn,
    next.commit,
    hashOf(commit).toString('base64url').slice(0, hashLength),
    next.ended?.atMs ?? '-',
    writeCheckpoint(next),
    now,
    buckets!,
    limits.deadLetterMaxBytes,
    chunkBytes,
    bucketBytes,
    unsee === 'all' ? 1 : 0,
    ...answerArguments(next),
    ...added,
    ...takenOut,
    deadLetters.length,
    ...deadLetters.flatMap(deadLetterArguments),
    gaps.length,
    ...gaps.flatMap(gapArguments),
    removedDeadLetters.length,
    ...removedDeadLetters.map(deadLetterField),
  ]
}
