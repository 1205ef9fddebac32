import { createHash } from 'node:crypto'
import type { RequestAnswer } from '../../domain/checkpoint.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Commit, Ledger } from '../../ports/store.ts'
import type { Outcome } from './backfills.ts'
import { changeDeadLetters } from './dead-letters.ts'
import { addedGaps } from './catalogue.ts'
import { maxLengths, ownOf, readStream, whenHead, type LedgerDeps, type OwnStream } from './streams.ts'
import { keyOf, refuseRenaming } from './root.ts'
import { packSeen } from './seen.ts'
import { again, changed, untilDecided, type Part } from './values.ts'

/** `deadLetterMaxBytes`: of each sink. */
export function createCommits(deps: LedgerDeps, deadLetterMaxBytes: number): Ledger['commit'] {
  const { records, clock, root, own } = deps

  /** The stream as the store has it now. */
  async function readOwn({ next: { stream } }: Commit): Promise<OwnStream | undefined> {
    const nowUs = await root.refresh()
    const { names } = root
    refuseRenaming(names, stream.sink, nowUs)
    const key = keyOf(stream, names)
    const { head, checkpoint } = await readStream(records, stream, key)
    return head && { key, names, head, answered: checkpoint?.lastRequest?.id, lengths: new Map() }
  }

  /** Writes the outcome of a read request into its backfill, if the stream is still queued there. */
  function answered(key: string, { id, outcome, reason }: RequestAnswer): Promise<Part> {
    const settled: Outcome = { state: outcome, ...(reason !== undefined && { reason }) }
    return changed<Outcome>(records, 'backfilled', [`${id}/${key}`], (before) =>
      before?.state === 'queued' ? settled : undefined,
    )
  }

  async function tryCommit(commit: Commit, hash: string): Promise<'done' | 'refused' | typeof again> {
    const { next, fence, basedOn, unsee, gaps } = commit
    const { stream, ...body } = next
    const { lastRequest } = body
    const isBase = ({ head }: OwnStream) => head.fence === fence && head.commit === basedOn
    const known = ownOf(deps, stream)
    const before = known !== undefined && isBase(known) ? known : await readOwn(commit)
    // Until the answer is there it is not known which head the store has.
    own.delete(streamKey(stream))
    if (before === undefined) return 'refused'
    if (before.head.hash === hash) return 'done'
    if (!isBase(before)) return 'refused'

    const { key, names } = before
    const isAnswer = lastRequest !== undefined && lastRequest.id !== before.answered
    const limit = { sink: stream.sink, maxBytes: deadLetterMaxBytes }
    const { lengths, ...seen } = await packSeen(records, key, before.lengths, commit)
    const isAllUnseen = unsee === 'all'
    const isUnseen = isAllUnseen || (unsee?.size ?? 0) > 0
    const removals = before.head.removals + (isUnseen ? 1 : 0)
    const head = { ...before.head, commit: next.commit, hash, removals }
    const parts: Part[] = [
      {
        when: [names.condition, whenHead(key, before.head)],
        remove: isAllUnseen ? [['counted', key]] : [],
        put: [
          ['heads', key, JSON.stringify(head)],
          ['checkpoints', key, JSON.stringify(body)],
        ],
        stamp: head.holder === '' ? [] : [['holders', head.holder]],
      },
      seen,
      await changeDeadLetters(records, key, commit, limit),
      gaps.length > 0 ? await addedGaps(records, names, gaps) : {},
      isAnswer ? await answered(key, lastRequest) : {},
    ]
    const all = <Each>(of: (part: Part) => readonly Each[] | undefined): Each[] =>
      parts.flatMap((part) => of(part) ?? [])
    const isWritten = await records.write({
      when: all(({ when }) => when),
      add: all(({ add }) => add),
      drop: all(({ drop }) => drop),
      remove: all(({ remove }) => remove),
      put: all(({ put }) => put),
      append: all(({ append }) => append),
      stamp: all(({ stamp }) => stamp),
      loosely: isReadAgain(commit) && !isAnswer,
    })
    if (!isWritten) return again
    if (isAllUnseen || before.lengths.size > maxLengths) before.lengths.clear()
    for (const [record, bytes] of lengths) before.lengths.set(record, bytes)
    own.set(streamKey(stream), { ...before, head, answered: lastRequest?.id })
    return 'done'
  }

  return async (commit) => {
    const hash = hashOf(commit)
    return untilDecided(clock, () => tryCommit(commit, hash))
  }
}

/** True for a commit that says only how far a scan is: if a power cut loses it, pages are read again. */
function isReadAgain({ seen, unsee, deadLetters, removedDeadLetters = [], gaps, next }: Commit): boolean {
  const changes = seen.size + deadLetters.length + removedDeadLetters.length + gaps.length
  const isNothingUnseen = unsee === undefined || (unsee !== 'all' && unsee.size === 0)
  return changes === 0 && isNothingUnseen && next.ended === undefined
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
