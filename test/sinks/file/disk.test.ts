import { appendFile, chmod, mkdir, open, readdir, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { fileFailure } from '../../../src/sinks/file/files.ts'
import { placeOf } from '../../../src/sinks/file/parts.ts'
import { smallDisk } from '../../setup/small-disk.ts'
import { buildEvents, never, streamOf, StreamLedger } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

const cleanups: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function workbench(parent?: string): Promise<Workbench> {
  const bench = await createWorkbench(parent)
  cleanups.push(() => bench.dispose())
  return bench
}

type Fault = 'write' | 'short' | 'datasync' | 'truncate'

/** No real disk fails or takes half a write when it is told to. Each problem strikes once. */
function bad(handle: FileHandle, problems: Set<Fault>): FileHandle {
  const eio = (problem: Fault) => {
    if (problems.delete(problem))
      throw Object.assign(new Error(`EIO: i/o error, ${problem}`), { code: 'EIO' })
  }
  const real = {
    write: handle.write.bind(handle),
    datasync: handle.datasync.bind(handle),
    truncate: handle.truncate.bind(handle),
  }
  const write = async (buffer: Buffer, offset: number, length: number) => {
    if (problems.delete('short')) return await real.write(buffer, offset, Math.ceil(length / 3))
    if (problems.has('write')) await real.write(buffer, offset, Math.ceil(length / 2))
    eio('write')
    return await real.write(buffer, offset, length)
  }
  return Object.assign(handle, {
    write,
    async datasync() {
      eio('datasync')
      await real.datasync()
    },
    async truncate(length: number) {
      eio('truncate')
      await real.truncate(length)
    },
  })
}

it.each([
  ['a write that fails half way', ['write'], 2],
  ['a sync that fails', ['datasync'], 2],
  ['a write that fails and cannot be taken back', ['write', 'truncate'], 2],
] as const)('has each committed event once after %s', async (_what, struck, parts) => {
  const bench = await workbench()
  const problems = new Set<Fault>()
  const sink = bench.sink({}, { openFile: async (...args) => bad(await open(...args), problems) })
  const ledger = new StreamLedger(streamOf(sink, 101))
  const opened = await ledger.open(sink)
  ledger.commit((await opened.deliver(buildEvents(3, 'a'), never())).committed)
  for (const problem of struck) problems.add(problem)
  await expect(opened.deliver(buildEvents(3, 'b'), never())).rejects.toMatchObject({ kind: 'retry' })
  expect(problems.size).toBe(0)
  ledger.commit((await opened.deliver(buildEvents(3, 'b'), never())).committed)
  expect(await bench.files()).toHaveLength(parts)
  await opened.close()
  await (await ledger.open(sink)).close()
  expect(await bench.ids()).toEqual(['a-0', 'a-1', 'a-2', 'b-0', 'b-1', 'b-2'])
})

it('never continues a part that a failed write was cut from, in the next process neither', async () => {
  const bench = await workbench()
  const problems = new Set<Fault>()
  const sink = bench.sink({}, { openFile: async (...args) => bad(await open(...args), problems) })
  const ledger = new StreamLedger(streamOf(sink, 101))
  await ledger.ship(sink, buildEvents(3, 'a'))
  problems.add('write')
  await expect(ledger.ship(sink, buildEvents(3, 'b'))).rejects.toMatchObject({ kind: 'retry' })
  await sink.close()
  await ledger.ship(bench.sink(), buildEvents(3, 'b'))
  expect([...ledger.committed.values()].map(({ lines }) => lines)).toEqual([3, 3])
  expect(await bench.ids()).toHaveLength(6)
})

it('cuts a part that a process had closed before it was killed, and does not continue it', async () => {
  const bench = await workbench()
  const sink = bench.sink()
  const ledger = new StreamLedger(streamOf(sink, 101))
  await ledger.ship(sink, buildEvents(3, 'a'))
  await sink.close()
  const { part, bytes } = [...ledger.committed.values()][0]!
  const file = join(bench.path, placeOf(streamOf(sink, 101)), part)
  await appendFile(file, 'a line without a commit\n')
  await chmod(file, 0o400)
  await ledger.ship(bench.sink(), buildEvents(3, 'b'))
  const { size, mode } = await stat(file)
  expect([size, mode & 0o777]).toEqual([bytes, 0o400])
  expect([...ledger.committed.values()].map(({ lines }) => lines)).toEqual([3, 3])
})

it('continues after a short write', async () => {
  const bench = await workbench()
  const problems = new Set<Fault>(['short'])
  const sink = bench.sink({}, { openFile: async (...args) => bad(await open(...args), problems) })
  await new StreamLedger(streamOf(sink, 101)).ship(sink, buildEvents(100))
  expect(await bench.ids()).toHaveLength(100)
  expect(problems.size).toBe(0)
})

it('names path, owner, mode, uid and remedy where the system denies access', async () => {
  const bench = await workbench()
  await mkdir(bench.path)
  await chmod(bench.path, 0o755)
  // Modes bind nobody who is root.
  const denied = Object.assign(new Error('denied'), { code: 'EACCES' })
  const { kind, code, message } = await fileFailure(denied, join(bench.path, 'below', 'it'))
  expect([kind, code]).toEqual(['stop', 'unwritable'])
  const [uid, gid] = [process.getuid!(), process.getgid!()]
  for (const said of [`${bench.path}/below/it`, `${uid}:${gid}`, '0755', `uid ${uid}`, `chown ${uid}:`])
    expect(message).toContain(said)
  expect(message).not.toContain('\n')
})

/** Modes bind nobody who is root, so the sink runs as somebody else for that moment. */
it.runIf(process.getuid?.() === 0)(
  'says whose a folder is where it cannot create the file of its writer',
  async () => {
    const bench = await workbench()
    await mkdir(join(bench.path, '.shieldlog'), { recursive: true })
    for (const path of [dirname(bench.path), bench.path, join(bench.path, '.shieldlog')])
      await chmod(path, 0o755)
    const sink = bench.sink({ dirMode: 0o755 })
    const opening = new StreamLedger(streamOf(sink, 101)).open(sink)
    process.seteuid!(65_534)
    try {
      await expect(opening).rejects.toMatchObject({
        code: 'unwritable',
        message: expect.stringContaining('mode 0755'),
      })
    } finally {
      process.seteuid!(0)
    }
  },
)

it('checks a path without leaving files, also one that does not exist', async () => {
  const bench = await workbench()
  const parent = join(bench.path, '..')
  const sink = bench.sink({ path: join(bench.path, 'a', 'b') })
  await sink.check(never())
  expect(await readdir(parent)).toEqual([])
  await mkdir(bench.path)
  await sink.check(never())
  expect(await readdir(bench.path)).toEqual([])
})

it('reports a path that is a file, or has a file in it', async () => {
  const bench = await workbench()
  await writeFile(bench.path, '')
  await expect(bench.sink().check(never())).rejects.toMatchObject({ kind: 'stop', code: 'unwritable' })
  const below = bench.sink({ path: join(bench.path, 'below') })
  await expect(below.check(never())).rejects.toMatchObject({ kind: 'stop', code: 'unwritable' })
  const nothing = { storeId: 'store', committed: [] }
  await expect(below.hasUncommitted(streamOf(below, 101), nothing)).rejects.toMatchObject({
    code: 'unwritable',
  })
})

it('says in plain words why a path cannot be used, and what to do', async () => {
  // No folder can be made there, whoever asks.
  await expect((await workbench()).sink({ path: '/proc/ev' }).check(never())).rejects.toMatchObject({
    code: 'unwritable',
    message:
      'cannot use /proc/ev: no such file or directory (ENOENT); choose another path, on a disk that takes files and folders',
  })
})

it('warns of a disk that is nearly full, and fails on one that is full', async ({ skip }) => {
  const disk = smallDisk(20)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  const bench = await workbench(disk)
  const sink = bench.sink()
  expect(await sink.check(never())).toEqual({
    found: expect.stringMatching(/^(?:19|20) MB free$/),
    note: expect.stringMatching(/^less than 1 GB is free, .* free space/),
  })
  await writeFile(join(disk, 'ballast'), Buffer.alloc(20_200_000))
  const full = { kind: 'stop', code: 'disk_full', message: expect.stringContaining(bench.path) }
  await expect(sink.check(never())).rejects.toMatchObject(full)
  const ledger = new StreamLedger(streamOf(sink, 101))
  await expect(ledger.ship(sink, buildEvents(40_000))).rejects.toMatchObject(full)
  expect(await bench.ids()).toEqual([])
})

it('closes while a write hangs, and keeps its identity until that write has ended', async () => {
  const bench = await workbench()
  const reached = Promise.withResolvers<void>()
  const mended = Promise.withResolvers<void>()
  const hanging = (handle: FileHandle): FileHandle => {
    const datasync = handle.datasync.bind(handle)
    const hang = async () => {
      reached.resolve()
      await mended.promise
      await datasync()
    }
    return Object.assign(handle, { datasync: hang })
  }
  const sink = bench.sink({}, { openFile: async (...args) => hanging(await open(...args)) })
  const ledger = new StreamLedger(streamOf(sink, 101))
  const opened = await ledger.open(sink)
  const delivery = opened.deliver(buildEvents(2, 'lost'), never()).catch((error: unknown) => error)
  await reached.promise
  // These wait for no write: it ends below only.
  await opened.close()
  await sink.close()
  const other = bench.sink()
  await ledger.ship(other, buildEvents(1, 'kept'))
  expect(await bench.ids()).toEqual(['lost-0', 'lost-1', 'kept-0'])
  mended.resolve()
  expect(await delivery).toMatchObject({ kind: 'cancelled' })
  await (await ledger.open(other)).close()
  expect(await bench.ids()).toEqual(['kept-0'])
})

it('names a disk without inodes as such', async ({ skip }) => {
  // Its root and the folder of the sink.
  const disk = smallDisk(4, 2)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  await expect((await workbench(disk)).sink().check(never())).rejects.toMatchObject({
    code: 'disk_full',
    message: expect.stringMatching(/no inodes left \(ENOSPC\); remove files there, .*df -i/),
  })
})
