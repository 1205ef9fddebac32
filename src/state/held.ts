import { Failure } from '../domain/failure.ts'
import { streamKey, type Stream } from '../domain/stream.ts'

/** A holder that was heard from more recently than this keeps its streams. */
export const heardWithinMs = 20_000

/** A holder that was silent for this long has no stream any more, and is forgotten. */
export const holderKeptMs = 3_600_000

/** `until`: by the clock of this host. */
export function held(stream: Stream, until: number): Failure {
  const text = `the stream ${streamKey(stream)} is held by another live process`
  return new Failure('wait', 'held', text, { retryAt: until })
}
