import type { Checkpoint, Counters } from '../domain/checkpoint.ts'

/** What a stream has counted; zeros before its first commit. */
export function countersOf(checkpoint: Checkpoint | undefined): Counters {
  return checkpoint?.counters ?? none
}

const none: Counters = { pages: 0, events: 0, delivered: 0, duplicates: 0, late: 0, deadLetters: 0 }
