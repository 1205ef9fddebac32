import { Failure } from '../domain/failure.ts'
import { streamKey, type Stream } from '../domain/stream.ts'

/** A holder whose latest heartbeat is more recent than this keeps its streams. */
export const heardWithinMs = 20_000

/** A holder without a heartbeat for this long is removed. */
export const holderKeptMs = 3_600_000

/** `until`: by the clock of this host. */
export function held(stream: Stream, until: number): Failure {
  const text = `the stream ${streamKey(stream)} is held by another live process`
  return new Failure('wait', 'held', text, { retryAt: until })
}
