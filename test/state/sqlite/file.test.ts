import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openExistingStore, probeStore } from '../../../src/assemble/state.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { openDatabase, schemaNumber } from '../../../src/state/sqlite/database.ts'
import { createScheduleLock } from '../../../src/state/sqlite/schedule-lock.ts'
import { mountPointsIn, probeStateFile } from '../../../src/state/sqlite/state-file.ts'
import { openSqliteStore, type SqliteStoreOptions } from '../../setup/stores.ts'
import { buildCommit, buildHolder, buildStream, packed } from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { startNode, startProcess } from '../../setup/processes.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const leastSettings = { SHIELDLOG_API_ACCESS_KEY: 'key', SHIELDLOG_ZONES: '101' }
const stream = buildStream()
const holder = buildHolder('one')
const openAt = (path: string, more: Partial<SqliteStoreOptions> = {}) =>
  openSqliteStore({ path, clock: createFakeClock(), deadLetterMaxBytes: 1_000, ...more })
const refusal = (message: RegExp) => ({
  name: 'Failure',
  kind: 'stop',
  code: 'store_refuses',
  message: expect.stringMatching(message) as string,
})

describe('the file of a store', () => {
  it('is tried, before there is one, with a file that can really be opened, and nothing is left of it', async () => {
    const folder = temporaryFolder()
    await probeStateFile(join(folder, 'deep', 'store.db'))
    expect(readdirSync(folder)).toEqual([])
    const none = probeStateFile('/proc/nowhere/store.db')
    await expect(none).rejects.toMatchObject(refusal(/at \/proc\/nowhere\/store.db.*set `state` to/))
  })

  it('is refused under a second name, where its lock and its log would not be found', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'store.db')
    await (await openAt(path)).close()
    linkSync(path, join(folder, 'other.db'))
    const second = refusal(/other\.db has a second name \(a hard link\).*remove the other name/)
    await expect(openAt(join(folder, 'other.db'))).rejects.toMatchObject(second)
    rmSync(join(folder, 'other.db'))
    await (await openAt(path)).close()
    const mounts =
      '36 35 98:0 /mnt1 /mnt2 rw,noatime - ext4 /dev/root rw\n37 35 98:0 /a /with\\040space rw - ext4 /dev/root rw\n'
    expect([...mountPointsIn(mounts)]).toEqual(['/mnt2', '/with space', ''])
  })

  it('is durable at every commit, in a write-ahead log, and gives free pages back', async () => {
    const path = join(temporaryFolder(), 'store.db')
    await (await openAt(path)).close()
    using database = new DatabaseSync(path)
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(database.prepare('PRAGMA auto_vacuum').get()).toEqual({ auto_vacuum: 2 })
  })

  it('is not created if only an existing one may be opened', async () => {
    const path = join(temporaryFolder(), 'store.db')
    await expect(openAt(path, { create: false })).rejects.toMatchObject(refusal(/no state at .*store\.db/))
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
    await (await openAt(path)).close()
    await (await openAt(path, { create: false })).close()
  })

  it.each([
    ['a folder', (folder: string) => folder, /unable to open.*make it a file/],
    [
      'below a file',
      (folder: string) => join(folder, 'file', 'store.db'),
      /ENOTDIR\): .*file belongs to .*another path/,
    ],
    ['no database', (folder: string) => join(folder, 'file'), /not a database.*another path/],
  ])('is refused when the path is %s', async (_, pathIn, message) => {
    const folder = temporaryFolder()
    const text = randomBytes(5_000)
    writeFileSync(join(folder, 'file'), text)
    await expect(openAt(pathIn(folder))).rejects.toMatchObject(refusal(message))
    expect(readFileSync(join(folder, 'file'))).toEqual(text)
  })

  it('is refused if it is the database of another program, which is not changed', async () => {
    const path = join(temporaryFolder(), 'other.db')
    using database = new DatabaseSync(path)
    database.exec('CREATE TABLE song (title TEXT)')
    await expect(openAt(path)).rejects.toMatchObject(refusal(/database of another program/))
    expect(database.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'song' }])
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' })
  })

  it.each([1, 99])('is refused if its schema is %d, with both numbers, and not changed', async (number) => {
    const path = join(temporaryFolder(), 'store.db')
    await (await openAt(path)).close()
    using database = new DatabaseSync(path)
    database.exec(`PRAGMA user_version = ${number}`)
    const message = `schema ${number}, and this version supports only schema ${schemaNumber}: run the version`
    await expect(openAt(path)).rejects.toMatchObject(refusal(new RegExp(message)))
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: number })
  })

  it('is no longer written after it was moved', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = await openAt(path)
    const lock = createScheduleLock(path, createFakeClock())
    await lock.acquire()
    renameSync(path, `${path}.old`)
    await expect(store.ledger.take(stream, holder)).rejects.toMatchObject(refusal(/moved or removed/))
    await expect(store.ledger.heartbeat(holder)).rejects.toMatchObject(refusal(/moved or removed/))
    // Others would find no store, or make one there, beside the log of this one.
    const others = refusal(/removed while process \d+ on host .* stop that process/)
    await expect(openAt(path)).rejects.toMatchObject(others)
    const { config } = loadConfig({ env: { SHIELDLOG_STATE: `sqlite:${path}`, ...leastSettings } })
    await expect(openExistingStore(config, createFakeClock())).rejects.toMatchObject(others)
    await expect(probeStore(config, createFakeClock(), { emit: () => undefined })).rejects.toMatchObject(
      others,
    )
    expect(existsSync(path)).toBe(false)
    renameSync(`${path}.old`, path)
    await store.ledger.take(stream, holder)
    await lock.release()
    await store.close()
  })

  it.each([
    ['its log is', ['-wal']],
    ['the index of its log is', ['-shm']],
    ['both are', ['-wal', '-shm']],
  ])(
    'is neither written nor read after %s removed, by others neither; its close saves it',
    async (_, ends) => {
      const path = join(temporaryFolder(), 'store.db')
      const linked = join(temporaryFolder(), 'linked.db')
      symlinkSync(path, linked)
      const clock = createFakeClock()
      const store = await openAt(path)
      const lock = createScheduleLock(path, clock)
      await lock.acquire()
      const { fence } = await store.ledger.take(stream, holder)
      await store.ledger.commit(buildCommit(stream, fence, 0))
      for (const end of ends) rmSync(path + end)
      const lost = refusal(/-(wal|shm), which the state .*stop this process, which writes/)
      await expect(store.ledger.heartbeat(holder)).rejects.toMatchObject(lost)
      await expect(store.ledger.read(stream)).rejects.toMatchObject(lost)
      for (const place of [path, linked])
        await expect(openAt(place, { create: false })).rejects.toMatchObject(
          refusal(/removed while process \d+ on host .* stop that process/),
        )
      await lock.release()
      await store.close()
      const again = await openAt(linked, { create: false })
      expect(await again.ledger.read(stream)).toMatchObject({ commit: 1 })
      await again.close()
    },
  )

  it('is not written once another log has the place of its own', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = await openAt(path)
    writeFileSync(`${path}-new`, readFileSync(`${path}-wal`))
    renameSync(`${path}-new`, `${path}-wal`)
    await expect(store.ledger.heartbeat(holder)).rejects.toMatchObject(refusal(/-wal, .* or replaced/))
    await store.close()
  })

  it('is reported if it is damaged', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = await openAt(path)
    const { fence } = await store.ledger.take(stream, holder)
    await store.ledger.commit(buildCommit(stream, fence, 0, { seen: new Map([[1, packed(1, 50_000)]]) }))
    await store.close()
    const bytes = readFileSync(path)
    bytes.fill(0x5a, 4096 * 3)
    writeFileSync(path, bytes)
    const read = async () => {
      const again = await openAt(path)
      try {
        await again.ledger.loadSeen(stream, [1])
        await again.ledger.take(stream, holder)
      } finally {
        await again.close()
      }
    }
    await expect(read()).rejects.toMatchObject(refusal(/malformed.*restore/))
  })

  it('lets the event loop turn while another process keeps it locked', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = await openAt(path)
    using database = new DatabaseSync(path)
    database.exec('BEGIN IMMEDIATE')
    let isDone = false
    const beat = store.ledger.heartbeat(holder).then(() => (isDone = true))
    for (let turn = 0; turn < 2; turn++) await setImmediate()
    expect(isDone).toBe(false)
    database.exec('COMMIT')
    await beat
    await store.close()
  })

  it('is unavailable, not refused, while another process keeps it locked for long', async () => {
    const path = join(temporaryFolder(), 'store.db')
    await (await openAt(path)).close()
    using database = await openDatabase(path, 2)
    using other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    const change = () => database.prepare(`UPDATE record SET key = 'k'`).run().changes
    await expect(database.write(change)).rejects.toMatchObject({ kind: 'retry', code: 'store_unavailable' })
    expect(await database.read(() => database.prepare('SELECT 1').get())).toEqual([1])
    other.exec('ROLLBACK')
    expect(await database.write(change)).toBe(1)
  })

  it('is refused once the store is closed, whether it waits for the disk or not', async () => {
    const path = join(temporaryFolder(), 'store.db')
    await (await openAt(path)).close()
    const database = await openDatabase(path)
    await database.write(() => undefined, true)
    database[Symbol.dispose]()
    for (const loosely of [true, false])
      await expect(database.write(() => undefined, loosely)).rejects.toMatchObject({
        code: 'store_unavailable',
      })
  })
})

describe('a store that this user cannot write', () => {
  const script = `
    const { openSqliteStore } = await import(${JSON.stringify(`${projectFolder}test/setup/stores.ts`)})
    const clock = { now: () => 0, monotonic: () => 0, sleep: async () => {} }
    try {
      const store = await openSqliteStore({ path: process.argv[1], clock, deadLetterMaxBytes: 1 })
      await store.close()
      console.log('opened')
    } catch (error) {
      console.log(JSON.stringify({ kind: error.kind, code: error.code, message: error.message }))
    }`
  const args = ['--input-type=module', '-e', script]

  /** Root may write everything, so it hands the work to a user who may not. */
  const openAsUser = async (path: string): Promise<string> => {
    const isRoot = process.getuid?.() === 0
    await using child = isRoot
      ? startProcess('setpriv', [
          '--reuid=65534',
          '--regid=65534',
          '--clear-groups',
          process.execPath,
          ...args,
          path,
        ])
      : startNode([...args, path])
    await child.exited
    return child.stdout() + child.stderr()
  }

  it('gives one line with path, owner, mode, uid and remedy', async () => {
    const folder = temporaryFolder()
    chmodSync(folder, 0o755)
    const locked = join(folder, 'var')
    mkdirSync(locked, { mode: 0o555 })
    const uid = process.getuid?.() === 0 ? 65534 : process.getuid?.()
    const path = join(locked, 'deep', 'store.db')
    const { kind, code, message } = JSON.parse(await openAsUser(path)) as Record<string, string>
    expect([kind, code]).toEqual(['stop', 'store_refuses'])
    const whose = `${locked} belongs to ${process.getuid?.()}:${process.getgid?.()} with mode 0555`
    expect(message).toBe(
      `cannot write the state at ${path}: permission denied (EACCES): ${whose}, this process runs as uid ${uid}; ` +
        `run \`chown ${uid} ${locked}\`, or set \`state\` to another path`,
    )
  })

  it('names the folder of a file that it may write', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'store.db')
    await (await openAt(path)).close()
    chmodSync(path, 0o666)
    chmodSync(folder, 0o555)
    const { message } = JSON.parse(await openAsUser(path)) as { message: string }
    expect(message).toContain(`permission denied (EACCES): ${folder} belongs to`)
  })

  it.each(['', '-wal'])('names the file%s that only its owner may write', async (suffix) => {
    const folder = temporaryFolder()
    const path = join(folder, 'store.db')
    await (await openAt(path)).close()
    writeFileSync(`${path}-wal`, '')
    chmodSync(folder, 0o777)
    chmodSync(path, 0o666)
    chmodSync(`${path}-wal`, 0o666)
    chmodSync(`${path}${suffix}`, 0o444)
    const { message } = JSON.parse(await openAsUser(path)) as { message: string }
    expect(message).toContain(`permission denied (EACCES): ${path}${suffix} belongs to`)
  })
})
