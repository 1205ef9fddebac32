import type { Database } from './database/database.ts'

/** The number of the next change of a stream or backfill. Inside of a write. */
export function nextChange(database: Database): number {
  return database.one<{ changes: number }>('UPDATE store SET changes = changes + 1 RETURNING changes')!
    .changes
}

/** Call it when streams are removed. Inside of a write. */
export function countRemoval(database: Database): void {
  database.run('UPDATE store SET removals = removals + 1')
}
