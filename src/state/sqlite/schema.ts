import { Failure } from '../../domain/failure.ts'
import type { Database } from './database.ts'

/** The schema that this version reads and writes. */
export const schemaNumber = 9

/** Marks a database file as a store ("shld"), so that a foreign one is never altered. */
const applicationId = 0x73_68_6c_64

/**
 * Records have row ids: with the primary key as the table's own order, records of 980 bytes in no order took 11.1 bytes
 * an event in place of 9.8, and commits twice the time. A collection that was dropped has no name, and its records are
 * cleared away later. `number`: of the latest change, in a tracked collection.
 */
const layout = `
CREATE TABLE collection (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  latest INTEGER NOT NULL DEFAULT 0,
  sum INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE record (
  collection INTEGER NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  number INTEGER,
  PRIMARY KEY (collection, key)
);
CREATE INDEX record_number ON record (collection, number) WHERE number IS NOT NULL;
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaNumber};
`

/** Makes the tables of a new store. */
export async function makeSchema(database: Database): Promise<void> {
  await database.write(() => {
    // Another process may have done it meanwhile.
    if (!isMade(database)) database.exec(layout)
  })
}

/** Whether the file is a store of this version; false for an empty one. Throws `store_refuses`, and changes nothing. */
export function isMade(database: Database): boolean {
  const figure = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0])
  const id = figure('PRAGMA application_id')
  const number = figure('PRAGMA user_version')
  if (id === 0 && number === 0 && figure('SELECT count(*) FROM sqlite_schema') === 0) return false
  if (id !== applicationId) {
    const text = `${database.path} is a database of another program: set \`state\` to another path`
    throw new Failure('stop', 'store_refuses', text)
  }
  if (number === schemaNumber) return true
  const text = `the store ${database.path} has schema ${number}, and this version supports only schema ${schemaNumber}`
  const remedy = 'run the version that made it, or set `state` to another path'
  throw new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
}
