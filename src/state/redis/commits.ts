import { createHash } from 'node:crypto'
import { dayMs } from '../../domain/day.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { Commit } from '../../ports.ts'
import type { Announcements } from './announcements.ts'
import { listOf, numberOf, textOf } from './answer.ts'
import { writeCheckpoint } from './checkpoint-text.ts'
import { letterArguments, letterBytes, letterField } from './dead-letter-text.ts'
import { bucketBytes, chunkBytes, seenArguments } from './seen-fields.ts'
import { gapArguments } from './gaps.ts'
import type { Holders } from './holders.ts'
import type { Place } from './keys.ts'
import type { Argument, Link } from './link.ts'
import { fenceText } from './record.ts'
import type { SinkNames } from './sink-names.ts'

export interface CommitLimits {
  readonly deadLetterMaxBytes: number
  /** Days for which the API answers. */
  readonly readableDays: number
  /** Days for which the checkpoints of ended streams are kept. */
  readonly keepDays: number
}

/** Keys expire so long after they would have been dropped: only where nobody drops them. */
const marginDays = 2

/** How long the keys of an ended stream stay, from its latest commit on. */
export function endedKeptMs({ keepDays }: Pick<CommitLimits, 'keepDays'>): number {
  return Math.ceil((keepDays + marginDays) * dayMs)
}

export interface CommitDeps {
  readonly link: Link
  readonly names: SinkNames
  readonly holders: Holders
  readonly announcements: Announcements
}

export function createCommits(limits: CommitLimits, { link, names, holders, announcements }: CommitDeps) {
  async function write(place: Place, commit: Commit, letterMaxBytes: number): Promise<'done' | 'refused'> {
    const { record, seen, ledger, letters, letterTotals, gaps } = place
    const all = [record, seen, ledger, letters, letterTotals, gaps]
    const answer = listOf(await link.script('commit-page', all, argumentsOf(commit, limits, letterMaxBytes)))
    const word = textOf(answer[0])
    if (word === 'full')
      throw lettersFull(limits, limits.deadLetterMaxBytes - letterMaxBytes + numberOf(answer[1]))
    if (word === 'refused') return 'refused'
    const holder = word === 'done' ? textOf(answer[1]) : ''
    // What was written stays written, whatever becomes of this.
    if (holder !== '') await holders.hear(holder).catch(() => undefined)
    return 'done'
  }

  return async function commit(commit: Commit): Promise<'done' | 'refused'> {
    const { next, basedOn, deadLetters, removedLetters = [], gaps } = commit
    if (next.commit !== basedOn + 1)
      throw new RangeError(`a commit based on ${basedOn} must be number ${basedOn + 1}, not ${next.commit}`)
    const place = await names.recall(next.stream)
    if (place === undefined) return 'refused'
    const isListed = deadLetters.length > 0 || removedLetters.length > 0 || gaps.length > 0
    if (!isListed) return write(place, commit, 0)
    let bytes = 0
    for (const letter of deadLetters) bytes += letterBytes(letter)
    const others = await announcements.announce(place, bytes)
    const complete = () => announcements.complete(place).catch(() => undefined)
    try {
      const answer = await write(place, commit, limits.deadLetterMaxBytes - others)
      await complete()
      return answer
    } catch (error) {
      // Where no answer came it is left to whoever reads the lists next: the commit may yet be carried out.
      if (isFailure(error, 'dead_letters_full')) await complete()
      throw error
    }
  }
}

function lettersFull({ deadLetterMaxBytes }: CommitLimits, bytes: number): Failure {
  const text = `the dead letters would take ${bytes} bytes, and ${deadLetterMaxBytes} are allowed`
  const remedy = 'replay or drop some, or raise deadLetters.maxBytes'
  return new Failure('stop', 'dead_letters_full', `${text}: ${remedy}`)
}

function argumentsOf(commit: Commit, limits: CommitLimits, letterMaxBytes: number): Argument[] {
  const { fence, basedOn, next, seen, deadLetters, removedLetters = [], gaps } = commit
  const { stream } = next
  return [
    fenceText(fence),
    basedOn,
    next.commit,
    hashOf(commit),
    next.ended?.atMs ?? '-',
    writeCheckpoint(next),
    (limits.readableDays + marginDays) * dayMs,
    endedKeptMs(limits),
    letterMaxBytes,
    chunkBytes,
    bucketBytes,
    stream.sink,
    ...seenArguments(stream.day, seen),
    deadLetters.length,
    ...deadLetters.flatMap((letter) => letterArguments(letter, stream)),
    gaps.length,
    ...gaps.flatMap(gapArguments),
    removedLetters.length,
    ...removedLetters.map((each) => letterField({ ...stream, ...each }, stream)),
  ]
}

/**
 * Fence and number alone would not tell two commits apart: after a lost answer the same pump may build another one on
 * the same checkpoint, and "done" would then be wrong.
 */
function hashOf(commit: Commit): string {
  const { fence, basedOn, next, seen, deadLetters, removedLetters = [], gaps } = commit
  const hash = createHash('sha256')
  const minutes = [...seen].sort(([a], [b]) => a - b)
  const sizes = minutes.map(([minute, bytes]) => [minute, bytes.byteLength])
  hash.update(JSON.stringify([fence, basedOn, next, deadLetters, removedLetters, gaps, sizes]))
  for (const [, bytes] of minutes) hash.update(bytes)
  return hash.digest('base64url').slice(0, 20)
}
