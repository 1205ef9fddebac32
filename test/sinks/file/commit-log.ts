import { existsSync, readFileSync } from 'node:fs'
import type { CommittedPart } from '../../../src/domain/event/delivery.ts'

/** One page of the crash tests' own store. */
export interface Commit {
  readonly zone: number
  readonly committed: readonly CommittedPart[]
  readonly ids: readonly string[]
}

/** All whole commits; a torn last one never happened. */
export function readCommits(log: string): Commit[] {
  if (!existsSync(log)) return []
  return readFileSync(log, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Commit)
}
