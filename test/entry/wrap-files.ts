import { constants, type PathLike } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type { Passing } from './steps.ts'

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
    await unlink(path)
    if (replaced.delete(String(path))) pass('after', 'compression')
  }
}

/** Parts count from 1 in every stream. */
function partNumber(path: PathLike): number | undefined {
  const number = /\/zone=\d+\/day=[\d-]+\/(\d+)-[^/]*\.ndjson$/.exec(String(path))?.[1]
  return number === undefined ? undefined : Number(number)
}

/** A compressed form that is not whole yet. */
function isUnfinished(path: PathLike): boolean {
  return /\/\.shieldlog\/[^/]*\.unfinished\.(?:gz|zst)$/.test(String(path))
}
