import { randomUUID } from 'node:crypto'
import { Failure } from '../../../domain/failure.ts'
import type { Database } from './database.ts'
import { layout } from './layout.ts'

/** The schema that this version reads and writes. */
export const schemaNumber = 8

/** Marks a database file as a store ("shld"), so that a foreign one is never altered. */
const applicationId = 0x73_68_6c_64

/** Refuses a file that is not a store of this version, before anything in it changes. Throws `store_refuses`. */
export async function checkSchema(database: Database): Promise<void> {
  await database.read(() => stateOf(database))
}

/** Makes the tables of a new store, in one transaction. Throws `store_refuses`. */
export async function ensureSchema(database: Database, nowMs: number): Promise<void> {
  if ((await database.read(() => stateOf(database))) === 'whole') return
  await database.write(() => {
    // Another process may have done it meanwhile.
    if (stateOf(database) === 'whole') return
    database.script(layout)
    database.run('INSERT INTO store (id, made_at) VALUES (?, ?)', randomUUID(), nowMs)
    database.script(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaNumber}`)
  })
}

function stateOf(database: Database): 'whole' | 'empty' {
  const id = database.one<{ application_id: number }>('PRAGMA application_id')?.application_id ?? 0
  const number = database.one<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
  const tables = database.one<{ count: number }>('SELECT count(*) AS count FROM sqlite_schema')?.count ?? 0
  if (id === 0 && number === 0 && tables === 0) return 'empty'
  if (id !== applicationId) {
    const text = `${database.path} is a database of another program: set \`state\` to another path`
    throw new Failure('stop', 'store_refuses', text)
  }
  if (number === schemaNumber) return 'whole'
  const text = `the store ${database.path} has schema ${number}, and this version supports only schema ${schemaNumber}`
  const remedy = `run the version that made it, or set \`state\` to another path`
  throw new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
}
