import { createHash } from 'node:crypto'
import { Failure } from '../domain/failure.ts'
import { streamKey } from '../domain/stream.ts'
import type { Commit } from '../ports/store.ts'

/** Throws a RangeError for an impossible commit: a bug of the caller. */
export function refuseImpossible({ next, basedOn, deadLetters }: Commit): void {
  if (next.commit !== basedOn + 1)
    throw new RangeError(`a commit based on ${basedOn} must be number ${basedOn + 1}, not ${next.commit}`)
  const { zone, day, sink } = next.stream
  for (const deadLetter of deadLetters)
    if (deadLetter.zone !== zone || deadLetter.day !== day || deadLetter.sink !== sink)
      throw new RangeError(`a commit of ${streamKey(next.stream)} holds a dead letter of another stream`)
}

/**
 * Hash of a commit's content. Fence and number alone would not distinguish two commits: after a lost answer the same
 * pump may build another one on the same checkpoint, and `done` would then be wrong.
 */
export function hashOf({ seen, unsee = new Map(), ...rest }: Commit): Buffer {
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
  return hash.digest()
}

/** Size of a dead letter, as counted for the limit. */
export function deadLetterBytes(deadLetter: {
  readonly id: string
  readonly answer: string
  readonly event: string
}): number {
  const { id, answer, event } = deadLetter
  return Buffer.byteLength(JSON.stringify(id)) + Buffer.byteLength(answer) + Buffer.byteLength(event)
}

export function deadLettersFull(sink: string, bytes: number, maxBytes: number): Failure {
  const text = `the dead letters of sink ${sink} would take ${bytes} bytes, more than the limit of ${maxBytes} for each sink`
  const remedy = 'replay or drop some, or raise deadLetters.maxBytes'
  return new Failure('stop', 'dead_letters_full', `${text}: ${remedy}`)
}
