import type { Checkpoint } from '../domain/checkpoint.ts'
import { freeze } from './freeze.ts'

const none: readonly string[] = Object.freeze([])

/** A checkpoint as lists hold it in memory: without its mark, which takes more than the rest and serves a pump only. */
export function listed(checkpoint: Checkpoint): Checkpoint {
  return freeze({ ...checkpoint, mark: none })
}
