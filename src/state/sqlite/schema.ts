import { randomUUID } from 'node:crypto'
import { Failure } from '../../domain/failure.ts'
import type { Database } from './database.ts'
import { layout, layoutSchema } from './layout.ts'
import { chunkSeen } from './migrate-chunk-seen.ts'

/** The schema that this version reads and writes. */
export const schemaNumber = 1

/** Marks a database file as a store ("shld"), so that a foreign one is never altered. */
const applicationId = 0x73_68_6c_64

/** The step at index n brings schema n to n + 1. */
const migrations: readonly ((database: Database, nowMs: number) => void)[] = [chunkSeen]

/** Refuses what is not a store, or one of a newer version, before anything of it is touched. Throws `store_refuses`. */
export async function checkSchema(database: Database): Promise<void> {
  await database.read(() => stateOf(database))
}

/** Makes the tables of a new store, or brings an older one up to date, in one transaction. Throws `store_refuses`. */
export async function ensureSchema(database: Database, nowMs: number): Promise<void> {
  if ((await database.read(() => stateOf(database))) === schemaNumber) return
  await database.write(() => {
    // Another process may have done it meanwhile.
    const found = stateOf(database)
    if (found === schemaNumber) return
    if (found === 'empty') create(database, nowMs)
    else for (const step of migrations.slice(found)) step(database, nowMs)
    database.script(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaNumber}`)
  })
}

function create(database: Database, nowMs: number): void {
  database.script(layout)
  for (const step of migrations.slice(layoutSchema)) step(database, nowMs)
  database.run('INSERT INTO store (id, made_at) VALUES (?, ?)', randomUUID(), nowMs)
}

function stateOf(database: Database): number | 'empty' {
  const id = database.one<{ application_id: number }>('PRAGMA application_id')?.application_id ?? 0
  const number = database.one<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
  const tables = database.one<{ count: number }>('SELECT count(*) AS count FROM sqlite_schema')?.count ?? 0
  if (id === 0 && number === 0 && tables === 0) return 'empty'
  if (id !== applicationId) {
    const text = `${database.path} is a database of another program: set \`state\` to another path`
    throw new Failure('stop', 'store_refuses', text)
  }
  if (number < 0 || number > schemaNumber) {
    const text = `the store ${database.path} has schema ${number}, and this version knows ${schemaNumber} at most`
    throw new Failure(
      'stop',
      'store_refuses',
      `${text}: run a newer version, or set \`state\` to another path`,
    )
  }
  return number
}
