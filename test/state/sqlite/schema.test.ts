import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { countMinute } from '../../../src/domain/seen.ts'
import { openSqliteStore } from '../../../src/state/sqlite/store.ts'
import {
  buildCommit,
  buildGap,
  buildHolder,
  buildLetter,
  buildStream,
  dayAt,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const fixtureOf = (number: number) =>
  readFileSync(new URL(`fixtures/schema-${number}.sql`, import.meta.url), 'utf8')
const stream = buildStream()
const openAt = (path: string) =>
  openSqliteStore({ path, clock: createFakeClock(1_795_000_030_000), deadLetterMaxBytes: 1_000 })

function makeOld(number = 0): string {
  const path = join(temporaryFolder(), 'store.db')
  using database = new DatabaseSync(path)
  database.exec(fixtureOf(number))
  return path
}

/** Names and text of tables, indexes and triggers, without spaces: SQLite writes a renamed table's name in quotes. */
function layoutOf(path: string): unknown[] {
  using database = new DatabaseSync(path)
  const rows = database.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()
  const number = database.prepare('PRAGMA user_version').get()?.['user_version']
  return [number, ...rows.map((row) => ({ ...row }))]
}

describe('a store of schema 0', () => {
  it('keeps everything when it is opened', async () => {
    const path = makeOld()
    const store = await openAt(path)
    expect(store.id).toBe('2f0d1c9e-0000-4000-8000-5bd0a1b2c3d4')
    const old = buildStream({ day: dayAt('2026-11-18') })
    expect(await store.list()).toEqual([
      { stream: old, commit: 9, mark: ['00000000000000ff'], ended: { as: 'closed', atMs: 5 } },
      { stream, commit: 2, mark: [] },
    ])
    const seen = await store.loadSeen(stream, [-1, 29_915_520])
    expect(seen).toEqual(
      new Map([
        [-1, packed(1, 2)],
        [29_915_520, packed(1, 600)],
      ]),
    )
    expect(await store.ledger(stream)).toEqual([
      countMinute(-1, packed(1, 2)),
      countMinute(29_915_520, packed(1, 600)),
    ])
    expect(await store.deadLetters()).toEqual([
      buildLetter({ time: '2026-11-20T00:00:00.000Z', at: 7, event: '{}' }),
      buildLetter({ id: 'e2', reason: 'unmappable', answer: '', at: 8, event: '{}' }),
    ])
    expect((await store.deadLetterCounts()).map(({ count }) => count)).toEqual([1, 1])
    expect(await store.gaps()).toEqual([buildGap({ from: 1, to: 2, recordedAt: 3 })])
    expect(await store.pairs()).toHaveLength(1)
    await store.close()
  })

  it('goes on where it was: fence, commit number and pruning', async () => {
    const store = await openAt(makeOld())
    const { fence, checkpoint } = await store.take(stream, buildHolder('run-2', true))
    expect(fence).toBe(8)
    expect(await store.commit(buildCommit(stream, fence, checkpoint?.commit ?? 0))).toBe('done')
    expect((await store.take(buildStream({ zone: 102 }), buildHolder('run-2', true))).fence).toBe(2)
    await store.prune(6, 0)
    expect((await store.list()).map(({ stream }) => stream.day)).toEqual(['2026-11-20'])
    await store.close()
  })

  it('has the tables of a new store afterwards', async () => {
    const [old, made] = [makeOld(), join(temporaryFolder(), 'store.db')]
    for (const path of [old, made]) await (await openAt(path)).close()
    expect(layoutOf(old)).toEqual(layoutOf(made))
  })

  it('is migrated by one of several that open it at once', async () => {
    const path = makeOld()
    const stores = await Promise.all([1, 2, 3].map(() => openAt(path)))
    for (const store of stores) expect(await store.list()).toHaveLength(2)
    for (const store of stores) await store.close()
  })

  it('stays as it was when the migration fails', async () => {
    const path = makeOld()
    using database = new DatabaseSync(path)
    database.exec("UPDATE stream SET checkpoint = '{' WHERE id = 2")
    const before = layoutOf(path)
    await expect(openAt(path)).rejects.toThrow()
    expect(layoutOf(path)).toEqual(before)
    database.exec('UPDATE stream SET checkpoint = NULL WHERE id = 2')
    await (await openAt(path)).close()
  })
})
