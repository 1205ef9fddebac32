import { setImmediate as turn } from 'node:timers/promises'
import { subscribe } from 'node:diagnostics_channel'
import { DatabaseSync } from 'node:sqlite'
import type { Engine } from '../../src/process/engine.ts'
import type { Store } from '../../src/ports/store.ts'
import type { OpenStream } from '../../src/ports/delivery.ts'
import type { Passing } from './steps.ts'
import { constants, type PathLike } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/** Has the ports of a ready assembly pass by each step; they stay the very parts that they were. */
export function wrapShipping({ source, sinks }: Ports, pass: Passing): void {
  const fetchPage = source.fetchPage.bind(source)
  source.fetchPage = async (request, signal) => {
    pass('before', 'fetch')
    const page = await fetchPage(request, signal)
    pass('after', 'normalise')
    return page
  }
  for (const sink of sinks.values()) {
    const around = passingBy(pass, sink.name)
    const wrapped = (opened: OpenStream) => ({ ...opened, deliver: around(opened.deliver.bind(opened)) })
    if ('reconcile' in sink) {
      const reconcile = sink.reconcile.bind(sink)
      sink.reconcile = async (...args) => wrapped(await reconcile(...args))
    } else {
      const open = sink.open.bind(sink)
      sink.open = async (...args) => wrapped(await open(...args))
    }
  }
}

type Deliver = OpenStream['deliver']

function passingBy(pass: Passing, sink: string): (deliver: Deliver) => Deliver {
  return (deliver) => async (events, signal) => {
    pass('before', 'deliver', sink)
    const delivery = await deliver(events, signal)
    pass('after', 'deliver', sink)
    return delivery
  }
}

interface Ports {
  readonly source: Engine['shipping']['reading']['source']
  readonly sinks: Engine['shipping']['sinks']
}

export function wrapStore(store: Store, pass: Passing): void {
  const commit = store.ledger.commit.bind(store.ledger)
  store.ledger.commit = async (given) => {
    const { sink } = given.next.stream
    const step = given.next.removed === undefined ? 'commit' : 'mark'
    pass('before', step, sink)
    const answer = commit(given)
    answer.catch(() => undefined)
    // It is on its way to a store that is another process; what lies in the same process has it by now.
    await turn()
    pass('amid', step, sink)
    const committed = await answer
    pass('after', step, sink)
    return committed
  }
  const add = store.backfills.add.bind(store.backfills)
  store.backfills.add = async (backfill) => {
    pass('before', 'backfill')
    await add(backfill)
    pass('amid', 'backfill')
  }
}

/** What is no port: what becomes of files, requests and transactions. */
export async function wrapSystem(pass: Passing): Promise<void> {
  wrapRequests(pass)
  wrapTransactions(pass)
  await wrapFiles(pass)
}

interface Requested {
  readonly request: { readonly method: string }
}

/** Steps of requests that no port shows: a page that is whole but not looked at yet, and a body on its way to a sink. */
function wrapRequests(pass: Passing): void {
  const on = (channel: string, method: 'GET' | 'POST', happened: () => void) =>
    subscribe(`undici:request:${channel}`, (message) => {
      if ((message as Requested).request.method === method) happened()
    })
  on('trailers', 'GET', () => {
    pass('after', 'fetch')
    pass('before', 'normalise')
  })
  on('create', 'POST', () => pass('before', 'post'))
  on('bodySent', 'POST', () => pass('amid', 'post'))
  on('trailers', 'POST', () => pass('after', 'post'))
}

/** The end of a transaction of an embedded store. */
function wrapTransactions(pass: Passing): void {
  const exec = DatabaseSync.prototype.exec
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === 'COMMIT') pass('before', 'transaction')
    exec.call(this, sql)
    if (sql === 'COMMIT') pass('after', 'transaction')
  }
}

type Write = (buffer: Buffer, offset: number, length: number) => Promise<Written>
interface Written {
  readonly bytesWritten: number
  readonly buffer: Buffer
}

/**
 * What the file sink does to files, where Node does it: the making of a further part, half of a write to a part, a
 * sync, and a part that is compressed and takes its place.
 */
export async function wrapFiles(pass: Passing): Promise<void> {
  const { parts } = wrapOpen(pass)
  await wrapHandles(parts, pass)
  wrapReplacement(pass)
  // Named imports of the parts see it too.
  syncBuiltinESMExports()
}

function wrapOpen(pass: Passing): { readonly parts: WeakSet<FileHandle> } {
  const parts = new WeakSet<FileHandle>()
  const open = fs.open.bind(fs)
  fs.open = async (path, flags, mode) => {
    const isMade = typeof flags === 'number' && (flags & constants.O_CREAT) !== 0
    const number = partNumber(path)
    const isRotation = isMade && number !== undefined && number > 1
    if (isRotation) pass('before', 'rotation')
    if (isMade && isUnfinished(path)) pass('before', 'compression')
    const handle = await open(path, flags, mode)
    if (number !== undefined) parts.add(handle)
    if (isRotation) pass('after', 'rotation')
    return handle
  }
  return { parts }
}

async function wrapHandles(parts: WeakSet<FileHandle>, pass: Passing): Promise<void> {
  const any = await fs.open(import.meta.filename)
  const prototype = Object.getPrototypeOf(any) as { datasync: () => Promise<void>; write: Write }
  await any.close()
  const { datasync, write } = prototype
  prototype.datasync = async function (this: FileHandle) {
    pass('before', 'datasync')
    await datasync.call(this)
    pass('after', 'datasync')
  }
  prototype.write = async function (this: FileHandle, buffer, offset, length) {
    if (!parts.has(this)) return write.call(this, buffer, offset, length)
    const half = Math.ceil(length / 2)
    const first = await write.call(this, buffer, offset, half)
    pass('amid', 'write')
    if (first.bytesWritten < half) return first
    const second = await write.call(this, buffer, offset + half, length - half)
    pass('after', 'write')
    return { buffer, bytesWritten: half + second.bytesWritten }
  }
}

function wrapReplacement(pass: Passing): void {
  const replaced = new Set<string>()
  const rename = fs.rename.bind(fs)
  fs.rename = async (from, to) => {
    const isReplacement = isUnfinished(from)
    if (isReplacement) pass('before', 'replacement')
    await rename(from, to)
    if (!isReplacement) return
    pass('after', 'replacement')
    replaced.add(String(to).replace(/\.\w+$/, ''))
  }
  const unlink = fs.unlink.bind(fs)
  fs.unlink = async (path) => {
    const isPart = !replaced.has(String(path)) && partNumber(path) !== undefined
    if (isPart) pass('before', 'removal')
    await unlink(path)
    if (isPart) pass('after', 'removal')
    if (replaced.delete(String(path))) pass('after', 'compression')
  }
}

/** Parts count from 1 in every stream. */
function partNumber(path: PathLike): number | undefined {
  const number = /\/shield_zone=\d+\/day=[\d-]+\/(\d+)-[^/]*\.ndjson$/.exec(String(path))?.[1]
  return number === undefined ? undefined : Number(number)
}

/** A compressed form that is not whole yet. */
function isUnfinished(path: PathLike): boolean {
  return /\/\.shieldlog\/[^/]*\.unfinished\.(?:gz|zst)$/.test(String(path))
}
