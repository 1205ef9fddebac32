import { randomUUID } from 'node:crypto'
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { backUp } from '../../../src/state/sqlite/backup.ts'
import { temporaryFolder } from '../../setup/temp.ts'

test('a store that SQLite cannot read is refused with the reason that SQLite gives', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'state.db')
  writeFileSync(path, 'this is no database'.repeat(100))
  await expect(backUp(path, join(folder, 'copy.db'))).rejects.toMatchObject({
    message: `cannot write a copy of the state to ${join(folder, 'copy.db')}: file is not a database`,
  })
  expect(readdirSync(folder)).toEqual(['state.db'])
})

test('what a killed copy has left is removed by a later one, whatever its name, and nothing else', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'state.db')
  using store = new DatabaseSync(path)
  store.exec('CREATE TABLE t (v BLOB)')
  const leave = (name: string, hours: number) => {
    writeFileSync(join(folder, name), 'x')
    const seconds = Date.now() / 1000 - hours * 3_600
    utimesSync(join(folder, name), seconds, seconds)
    return name
  }
  const unfinished = () => `copy.db.${randomUUID()}.unfinished`
  const killed = unfinished()
  for (const end of ['', '-journal']) leave(killed + end, 2)
  const kept = [leave(unfinished(), 0.5), leave('notes.unfinished', 9)]
  await backUp(path, join(folder, 'other.db'))
  expect(readdirSync(folder).toSorted()).toEqual(['other.db', 'state.db', ...kept].toSorted())
})

test('of two copies to one file at once, one is written whole and the other is refused', async () => {
  const folder = temporaryFolder()
  const [path, target] = [join(folder, 'state.db'), join(folder, 'copy.db')]
  using store = new DatabaseSync(path)
  store.exec('CREATE TABLE t (v BLOB); INSERT INTO t VALUES (randomblob(3000000))')
  const ends = await Promise.allSettled([backUp(path, target), backUp(path, target)])
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { message: expect.stringContaining('there is a file with that name') },
  })
  using copy = new DatabaseSync(target)
  expect(copy.prepare('SELECT length(v) AS bytes FROM t').get()).toEqual({ bytes: 3_000_000 })
  expect(readdirSync(folder).filter((name) => name.startsWith('copy.db.'))).toEqual([])
})
