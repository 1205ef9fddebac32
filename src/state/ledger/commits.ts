import { createHash } from 'node:crypto'
import type { RequestAnswer } from '../../domain/checkpoint.ts'
import { hasDay, withoutDay, type Day, type DayRange } from '../../domain/day.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Write } from '../../ports/records.ts'
import type { Commit, Ledger } from '../../ports/store.ts'
import type { Outcome } from './backfills.ts'
import { changeDeadLetters } from './dead-letters.ts'
import { addedGaps } from './catalogue.ts'
import { maxLengths, ownOf, readStream, whenHead, type OwnStream, type OwnStreams } from './streams.ts'
import { again, keyOf, refuseRenaming, routeOf, type PartialWrite, type Root } from './root.ts'
import { withObject } from './objects.ts'
import { packSeen } from './seen.ts'

/** `deadLetterMaxBytes`: of each sink. */
export function createCommits(root: Root, own: OwnStreams, deadLetterMaxBytes: number): Ledger['commit'] {
  /** The stream as the store has it now. */
  async function readOwn({ next: { stream } }: Commit): Promise<OwnStream | undefined> {
    const nowUs = await root.refresh()
    const { names } = root
    refuseRenaming(names, stream.sink, nowUs)
    const key = keyOf(stream, names)
    const { head, answered } = await readStream(root, stream, key)
    return head && { key, names, head, answered, lengths: new Map() }
  }

  /** Writes the outcome of a read request into its backfill, if the stream is still queued there. */
  function answer(key: string, { id, outcome, reason }: RequestAnswer): Promise<PartialWrite> {
    const settled: Outcome = { state: outcome, ...(reason !== undefined && { reason }) }
    const items = new Map([[`${id}/${key}`, settled]])
    return root.changed<Outcome, Outcome>('backfilled', items, (before) =>
      before?.state === 'queued' ? settled : undefined,
    )
  }

  /** A day of which nothing counts as delivered is as one that was never shipped. */
  const unpruned = (key: string, day: Day): Promise<PartialWrite> =>
    root.changed<readonly DayRange[], Day>('pruned', new Map([[routeOf(key), day]]), (before) =>
      before === undefined || !hasDay(before, day) ? undefined : withoutDay(before, day),
    )

  async function tryCommit(commit: Commit, hash: string): Promise<'done' | 'refused' | typeof again> {
    const { next, fence, basedOn, unsee, deadLetters, removedDeadLetters = [], gaps } = commit
    const { stream, ...body } = next
    const { lastRequest } = body
    const isBase = ({ head }: OwnStream) => head.fence === fence && head.commit === basedOn
    const kept = ownOf(own, stream, root)
    const before = kept !== undefined && isBase(kept) ? kept : await readOwn(commit)
    // Until the answer is there it is not known which head the store has.
    own.delete(streamKey(stream))
    if (before === undefined) return 'refused'
    if (before.head.hash === hash) return 'done'
    if (!isBase(before)) return 'refused'

    const { key, names } = before
    const isAnswer = lastRequest !== undefined && lastRequest.id !== before.answered
    const limit = { sink: stream.sink, maxBytes: deadLetterMaxBytes }
    const { lengths, ...packed } = await packSeen(root, key, before.lengths, commit)
    const isAllUnseen = unsee === 'all'
    const isUnseen = isAllUnseen || (unsee?.size ?? 0) > 0
    const removals = before.head.removals + (isUnseen ? 1 : 0)
    const isDropped = before.head.isDropped && !isAllUnseen
    const head = { ...before.head, commit: next.commit, hash, isDropped, removals }
    const parts: PartialWrite[] = [
      {
        when: [names.condition, whenHead(key, before.head)],
        remove: isAllUnseen ? [['counted', key]] : [],
        put: [
          ['heads', key, JSON.stringify(head)],
          ['checkpoints', key, JSON.stringify(body)],
        ],
        stamp: head.holder === '' ? [] : [['holders', head.holder]],
      },
      packed,
      withObject(root, key, commit.object),
      await changeDeadLetters(root, key, commit, limit),
      gaps.length > 0 ? await addedGaps(root, names, gaps) : {},
      isAnswer ? await answer(key, lastRequest) : {},
      isAllUnseen ? await unpruned(key, stream.day) : {},
    ]
    const all = kinds.map((kind) => [kind, parts.flatMap<unknown>((part) => part[kind] ?? [])])
    const write = Object.fromEntries(all) as unknown as Write
    const added = commit.seen.size + deadLetters.length + removedDeadLetters.length + gaps.length
    // It says only how far a scan is: if a power cut loses it, pages are read again.
    const loosely = added === 0 && !isUnseen && !isAnswer && next.ended === undefined
    const isWritten = await root.records.write({ ...write, loosely })
    if (!isWritten) return again
    if (isUnseen || before.lengths.size > maxLengths) before.lengths.clear()
    for (const [record, bytes] of lengths) before.lengths.set(record, bytes)
    own.set(streamKey(stream), { ...before, head, answered: lastRequest?.id })
    return 'done'
  }

  return async (commit) => {
    const hash = hashOf(commit)
    return root.untilDecided(() => tryCommit(commit, hash))
  }
}

const kinds = ['when', 'add', 'drop', 'remove', 'put', 'append', 'stamp'] as const

/** Enough to distinguish two commits of one stream. */
const hashLength = 20

/**
 * Hash of a commit's content. Fence and number alone would not distinguish two commits: after a lost answer the same
 * pump may build another one on the same checkpoint, and `done` would then be wrong.
 */
function hashOf({ seen, unsee = new Map(), ...rest }: Commit): string {
  const lists = [seen, unsee === 'all' ? [] : unsee].map((each) => [...each].sort(([a], [b]) => a - b))
  const { fence, basedOn, next, deadLetters, removedDeadLetters = [], gaps } = rest
  const sizes = lists.map((minutes) => minutes.map(([minute, bytes]) => [minute, bytes.byteLength]))
  const hash = createHash('sha256')
  hash.update(
    JSON.stringify([fence, basedOn, next, deadLetters, removedDeadLetters, gaps, sizes, unsee === 'all']),
  )
  for (const [, bytes] of lists.flat()) hash.update(bytes)
  return hash.digest('base64url').slice(0, hashLength)
}
