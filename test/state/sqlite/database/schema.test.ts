import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { schemaNumber } from '../../../../src/state/sqlite/database/schema.ts'
import { openSqliteStore } from '../../../../src/state/sqlite/store.ts'
import { createFakeClock } from '../../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../../setup/temp.ts'

const openAt = (path: string) =>
  openSqliteStore({ path, clock: createFakeClock(1_795_000_030_000), deadLetterMaxBytes: 1_000 })

it.each([1, 99])('a store of schema %d is refused with both numbers, and not changed', async (number) => {
  const path = join(temporaryFolder(), 'store.db')
  await (await openAt(path)).close()
  using database = new DatabaseSync(path)
  database.exec(`PRAGMA user_version = ${number}`)
  await expect(openAt(path)).rejects.toMatchObject({
    code: 'store_refuses',
    message: expect.stringMatching(
      new RegExp(`schema ${number}, and this version supports only schema ${schemaNumber}`),
    ),
  })
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: number })
})

it('a store is created by one of several processes that open it at once', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const stores = await Promise.all([1, 2, 3].map(() => openAt(path)))
  expect(new Set(stores.map(({ id }) => id)).size).toBe(1)
  for (const store of stores) await store.close()
})
