import { createHash } from 'node:crypto'
import type { RequestAnswer } from '../../domain/checkpoint.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { Commit, Ledger } from '../../ports/store.ts'
import type { Write } from '../../ports/records.ts'
import type { Outcome } from './backfills.ts'
import { changeDeadLetters, deadLettersFull } from './dead-letters.ts'
import { addedGaps } from './catalogue.ts'
import {
  checkpointOf,
  headOf,
  maxLengths,
  whenHead,
  type Head,
  type LedgerDeps,
  type OwnStream,
} from './streams.ts'
import { keyOf, refuseRenaming } from './root.ts'
import { packSeen } from './seen.ts'
import { again, changed, untilDecided, type Part } from './values.ts'

/** `deadLetterMaxBytes`: of each sink. */
export function createCommits(deps: LedgerDeps, deadLetterMaxBytes: number): Ledger['commit'] {
  const { records, clock, root, own } = deps

  /** The stream as the store has it now. */
  async function readStream(stream: Stream): Promise<OwnStream | undefined> {
    const nowUs = await root.refresh()
    const { names } = root
    refuseRenaming(names, stream.sink, nowUs)
    const key = keyOf(stream, names)
    const { found } = await records.read({ heads: [key], checkpoints: [key] })
    const [head, checkpoint] = [found.heads[0], found.checkpoints[0]]
    if (head === undefined) return undefined
    const answered = checkpoint && checkpointOf(stream, checkpoint).lastRequest?.id
    return { key, names, head: headOf(head), answered, lengths: new Map() }
  }

  /** Writes the outcome of a read request into its backfill, if the stream is still queued there. */
  function answered(key: string, { id, outcome, reason }: RequestAnswer): Promise<Part> {
    const settled: Outcome = { state: outcome, ...(reason !== undefined && { reason }) }
    return changed<Outcome>(records, 'backfilled', [`${id}/${key}`], (before) =>
      before?.state === 'queued' ? settled : undefined,
    )
  }

  async function tryCommit(commit: Commit, hash: string): Promise<'done' | 'refused' | typeof again> {
    const { next, fence, basedOn, unsee } = commit
    const { stream, ...body } = next
    const { lastRequest } = body
    const isBase = ({ head }: OwnStream) => head.fence === fence && head.commit === basedOn
    const cached = own.get(stream, root.names)
    const before = cached !== undefined && isBase(cached) ? cached : await readStream(stream)
    // Until the answer is there it is not known which head the store has.
    own.forget(stream)
    if (before === undefined) return 'refused'
    if (before.head.hash === hash) return 'done'
    if (!isBase(before)) return 'refused'

    const { key, names } = before
    const isAnswer = lastRequest !== undefined && lastRequest.id !== before.answered
    const { lengths, ...seen } = await packSeen(records, key, before.lengths, commit)
    const parts: Part[] = [
      seen,
      await changeDeadLetters(
        records,
        { key, sink: names.storedOf(stream.sink), deadLetterMaxBytes },
        commit,
      ),
      commit.gaps.length > 0 ? await addedGaps(records, names, commit.gaps) : {},
      isAnswer ? await answered(key, lastRequest) : {},
    ]
    const isAllUnseen = unsee === 'all'
    const isUnseen = isAllUnseen || (unsee?.size ?? 0) > 0
    const removals = before.head.removals + (isUnseen ? 1 : 0)
    const head: Head = { ...before.head, commit: next.commit, hash, removals }
    const { holder } = head
    const written = await records.write(
      joined(
        {
          when: [names.condition, whenHead(key, before.head)],
          remove: isAllUnseen ? [['counted', key]] : [],
          put: [
            ['heads', key, JSON.stringify(head)],
            ['checkpoints', key, JSON.stringify(body)],
          ],
          stamp: holder === '' ? [] : [['holders', holder]],
          loosely: isReadAgain(commit) && !isAnswer,
        },
        parts,
      ),
    )
    if (written.outcome === 'over') throw deadLettersFull(stream.sink, written.sum, deadLetterMaxBytes)
    if (written.outcome === 'changed') return again
    if (isAllUnseen || before.lengths.size > maxLengths) before.lengths.clear()
    for (const [record, bytes] of lengths) before.lengths.set(record, bytes)
    own.set(stream, { ...before, head, answered: lastRequest?.id })
    return 'done'
  }

  return async (commit) => {
    refuseImpossible(commit)
    const hash = hashOf(commit)
    return untilDecided(clock, () => tryCommit(commit, hash))
  }
}

function joined(first: Write, parts: readonly Part[]): Write {
  const all = <Each>(of: (part: Part) => readonly Each[] | undefined): Each[] =>
    [first, ...parts].flatMap((part) => of(part) ?? [])
  return {
    ...first,
    when: all(({ when }) => when),
    add: all(({ add }) => add),
    drop: all(({ drop }) => drop),
    remove: all(({ remove }) => remove),
    put: all(({ put }) => put),
    append: all(({ append }) => append),
  }
}

/** True for a commit that says only how far a scan is: if a power cut loses it, pages are read again. */
function isReadAgain({ seen, unsee, deadLetters, removedDeadLetters = [], gaps, next }: Commit): boolean {
  const changes = seen.size + deadLetters.length + removedDeadLetters.length + gaps.length
  const isNothingUnseen = unsee === undefined || (unsee !== 'all' && unsee.size === 0)
  return changes === 0 && isNothingUnseen && next.ended === undefined
}

/** Throws a RangeError for an impossible commit: a bug of the caller. */
function refuseImpossible({ next, basedOn, deadLetters }: Commit): void {
  if (next.commit !== basedOn + 1)
    throw new RangeError(`a commit based on ${basedOn} must be number ${basedOn + 1}, not ${next.commit}`)
  const { zone, day, sink } = next.stream
  for (const deadLetter of deadLetters)
    if (deadLetter.zone !== zone || deadLetter.day !== day || deadLetter.sink !== sink)
      throw new RangeError(`a commit of ${streamKey(next.stream)} holds a dead letter of another stream`)
}

/** Enough to distinguish two commits of one stream. */
const hashLength = 20

/**
 * Hash of a commit's content. Fence and number alone would not distinguish two commits: after a lost answer the same
 * pump may build another one on the same checkpoint, and `done` would then be wrong.
 */
function hashOf({ seen, unsee = new Map(), ...rest }: Commit): string {
  const inOrder = (each: Commit['seen']) => [...each].sort(([a], [b]) => a - b)
  const isAllUnseen = unsee === 'all'
  const lists = [inOrder(seen), isAllUnseen ? [] : inOrder(unsee)]
  const { fence, basedOn, next, deadLetters, removedDeadLetters = [], gaps } = rest
  const sizes = lists.map((minutes) => minutes.map(([minute, bytes]) => [minute, bytes.byteLength]))
  const hash = createHash('sha256')
  hash.update(
    JSON.stringify([fence, basedOn, next, deadLetters, removedDeadLetters, gaps, sizes, isAllUnseen]),
  )
  for (const [, bytes] of lists.flat()) hash.update(bytes)
  return hash.digest('base64url').slice(0, hashLength)
}
