import type { Database } from './database.ts'

/** From schema 1, before a day could be shipped once more. A new store takes this step too. */
export function addShippedAgain(database: Database): void {
  database.script(`
    -- Names the chunks of what a stream has shipped once more, for as long as that goes on.
    CREATE TABLE again (stream INTEGER PRIMARY KEY, seen INTEGER NOT NULL);
    ALTER TABLE backfill ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
  `)
}
