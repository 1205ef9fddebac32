import type { Stream } from '../domain/stream.ts'

/** Prunes a store, and renames a sink in it. */
export interface Upkeep {
  /**
   * Drops the fingerprints of an ended stream; its counts and hashes stay. False, and none is dropped, while a live
   * holder has the stream: its pump would ship again what it no longer finds.
   */
  forgetFingerprints(stream: Stream): Promise<boolean>
  /** Moves checkpoints, gaps and dead letters to another sink name. Throws Failure when the new name is taken. */
  renameSink(from: string, to: string): Promise<number>
  /**
   * Drops checkpoints that ended before `checkpointsBefore` and those of `abandoned` streams, which left the
   * configuration; also gaps and ended backfills made before `gapsBefore`.
   */
  prune(checkpointsBefore: number, gapsBefore: number, abandoned?: readonly Stream[]): Promise<void>
  /**
   * Removes the temporary streams of all backfills that neither run nor rest. A pump that still has one is refused its
   * next commit.
   */
  dropEndedResends(): Promise<void>
}
