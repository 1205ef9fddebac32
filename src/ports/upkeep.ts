import type { Day } from '../domain/day.ts'
import type { Stream } from '../domain/stream.ts'

/** Prunes a store, and renames a sink in it. */
export interface Upkeep {
  /**
   * Drops the fingerprints of an ended stream; its counts and hashes stay. False, and none is dropped, while a live
   * holder has the stream: its pump would ship again what it no longer finds.
   */
  forgetFingerprints(stream: Stream): Promise<boolean>
  /**
   * Moves checkpoints, gaps and dead letters to another sink name, and keeps the old one as a former name. Throws
   * Failure when the store has any of these under the new name. With `replace`, drops checkpoints and routes of it first.
   */
  renameSink(from: string, to: string, replace?: boolean): Promise<number>
  /**
   * Drops these streams, unless a live holder has them, and what was taken for days before `uncommittedBefore` and never
   * committed; also gaps and ended backfills made before `gapsBefore`.
   */
  prune(
    streams: readonly Stream[],
    old: { readonly uncommittedBefore: Day; readonly gapsBefore: number },
  ): Promise<void>
}
