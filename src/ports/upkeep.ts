import type { Stream } from '../domain/stream.ts'

/** What keeps a store small, and renames in it. */
export interface Upkeep {
  /** Replaces the fingerprints of an ended stream by its counts and hashes. */
  forgetFingerprints(stream: Stream): Promise<void>
  /** Moves checkpoints, gaps and dead letters to another sink name. Throws Failure when the new name is taken. */
  renameSink(from: string, to: string): Promise<number>
  /**
   * Drops checkpoints that ended before `checkpointsBefore`, and those of the streams that nobody asks for any more; gaps
   * and ended backfills made before `gapsBefore`.
   */
  prune(checkpointsBefore: number, gapsBefore: number, abandoned?: readonly Stream[]): Promise<void>
}
