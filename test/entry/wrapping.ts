import { subscribe } from 'node:diagnostics_channel'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import nodeFs, { constants } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Engine } from '../../src/assemble/engine.ts'
import type { CheckpointStore } from '../../src/ports.ts'
import type { Passing, Step } from './steps.ts'

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
    const open = sink.open.bind(sink)
    sink.open = async (stream, taken, signal) => {
      const opened = await open(stream, taken, signal)
      const deliver = around('deliver', opened.deliver.bind(opened), pass)
      const { staging } = opened
      if (staging === undefined) return { ...opened, deliver }
      const waiting = { ...staging, deliver: around('deliver', staging.deliver.bind(staging), pass) }
      return { ...opened, deliver, staging: waiting }
    }
  }
}

interface Ports {
  readonly source: Engine['shipping']['reading']['source']
  readonly sinks: Engine['shipping']['sinks']
}

export function wrapStore(store: CheckpointStore, pass: Passing): void {
  store.commit = around('commit', store.commit.bind(store), pass)
}

/**
 * What is no port: an answer that is whole but not looked at yet, a part's sync, the making of a further part, and the
 * end of a transaction of the store.
 */
export async function wrapSystem(pass: Passing): Promise<void> {
  subscribe('undici:request:trailers', () => {
    pass('after', 'fetch')
    pass('before', 'normalise')
  })
  await wrapSync(pass)
  wrapTransactions(pass)
  const open = fs.open.bind(fs)
  fs.open = async (path, flags, mode) => {
    const isRotation = typeof flags === 'number' && (flags & constants.O_CREAT) !== 0 && isFurtherPart(path)
    if (isRotation) pass('before', 'rotation')
    const handle = await open(path, flags, mode)
    if (isRotation) pass('after', 'rotation')
    return handle
  }
  const renameSync = nodeFs.renameSync.bind(nodeFs)
  nodeFs.renameSync = (from, to) => {
    const isMove = /\/\.shieldlog\/(?:again|replaced)\//.test(`${String(from)} ${String(to)}`)
    if (isMove) pass('before', 'move')
    renameSync(from, to)
    if (isMove) pass('after', 'move')
  }
  // Named imports of the parts see it too.
  syncBuiltinESMExports()
}

/** Parts count from 1 in every stream. */
function isFurtherPart(path: unknown): boolean {
  const number = /\/zone=\d+\/day=[\d-]+\/(\d+)-[^/]*\.ndjson$/.exec(String(path))?.[1]
  return number !== undefined && Number(number) > 1
}

async function wrapSync(pass: Passing): Promise<void> {
  const any = await fs.open(import.meta.filename)
  const prototype = Object.getPrototypeOf(any) as FileHandle
  await any.close()
  const datasync = prototype.datasync
  prototype.datasync = async function (this: FileHandle) {
    pass('before', 'datasync')
    await datasync.call(this)
    pass('after', 'datasync')
  }
}

function wrapTransactions(pass: Passing): void {
  const exec = DatabaseSync.prototype.exec
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === 'COMMIT') pass('before', 'transaction')
    exec.call(this, sql)
    if (sql === 'COMMIT') pass('after', 'transaction')
  }
}

function around<Given extends unknown[], Result>(
  step: Step,
  work: (...given: Given) => Promise<Result>,
  pass: Passing,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    pass('before', step)
    const result = await work(...given)
    pass('after', step)
    return result
  }
}
