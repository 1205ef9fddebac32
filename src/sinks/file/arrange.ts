import { renameSync } from 'node:fs'
import { rmdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Receipt } from '../../domain/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { OpenOptions } from '../../ports.ts'
import { findFolder, findRoot, makeFolders, ownFolder, syncFolder } from './directory.ts'
import { fileFailure, hasCode } from './file-failure.ts'
import { listParts, lookAtPart, type PartOnDisk } from './listing.ts'
import { whyForeign } from './ownership.ts'
import { placeOf, type Place } from './part.ts'
import type { Writer } from './settings.ts'

type Wanted = Pick<OpenOptions, 'receipts' | 'staged' | 'aside' | 'confirm'>

interface Move {
  readonly from: string
  readonly to: string
}

/** A part may be compressed by its writer while it is moved: then it is looked for again. */
const mostRounds = 5

/** Where parts wait that readers must not see yet. */
export function stagingOf(place: Place): Place {
  return { ...within('again', place), isStaging: true }
}

/** Where parts are kept that gave way to others. */
function replacedOf(place: Place): Place {
  return within('replaced', place)
}

function within(name: string, place: Place): Place {
  const folders = [ownFolder, name, ...place.folders]
  return { folders, relative: folders.join('/') }
}

/**
 * Brings each part of a stream to where it belongs: what has a receipt to where readers see it, what is staged beside
 * them, what gave way out of their sight. That follows from the checkpoint alone, so a crash anywhere in between is
 * mended by doing it again. Whatever else is staged goes.
 */
export async function arrange(writer: Writer, place: Place, wanted: Wanted): Promise<void> {
  try {
    for (let round = 0; round < mostRounds; round++) {
      const moves = await movesTo(writer, place, wanted)
      if (moves.length === 0) break
      // Nothing of one's own may be moved either by receipts that are old by now.
      await wanted.confirm()
      await move(writer, place, moves)
    }
    await clearStaging(writer, place, wanted)
  } catch (error) {
    throw await fileFailure(error, `${writer.root}/${place.relative}`)
  }
}

/** New parts first: for the moment that the renames take events stand twice, and are never missing. */
async function movesTo(writer: Writer, place: Place, wanted: Wanted): Promise<Move[]> {
  const { root } = writer
  const { receipts, staged = [], aside = [] } = wanted
  const visible = await findFolder(root, place.folders)
  const [staging, replaced] = [stagingOf(place), replacedOf(place)]
  const hidden = [await findFolder(root, staging.folders), await findFolder(root, replaced.folders)]
  const moves: Move[] = []
  const collect = async (from: string | undefined, to: Place, name: string) => {
    const part = from === undefined ? undefined : await lookAtPart(from, name)
    for (const path of part === undefined ? [] : formsOf(part))
      moves.push({ from: path, to: join(root, ...to.folders, basename(path)) })
  }
  const isSeen = async (name: string) =>
    visible !== undefined && (await lookAtPart(visible, name)) !== undefined
  if (hidden.some((folder) => folder !== undefined)) {
    for (const { part } of receipts) {
      if (await isSeen(part)) continue
      for (const folder of hidden) await collect(folder, place, part)
    }
  }
  for (const { part } of staged) await collect(visible, staging, part)
  for (const part of aside) await collect(visible, replaced, part)
  return moves
}

function formsOf({ plain, path, compressed, unfinished }: PartOnDisk): string[] {
  const whole = plain === undefined ? [] : [path]
  return [...whole, ...(compressed === undefined ? [] : [compressed.path]), ...unfinished]
}

async function move(writer: Writer, place: Place, moves: readonly Move[]): Promise<void> {
  const { root, settings } = writer
  const folders = [place, stagingOf(place), replacedOf(place)]
  const touched = new Set(moves.flatMap(({ from, to }) => [dirname(from), dirname(to)]))
  for (const { folders: each } of folders) {
    if (touched.has(join(root, ...each))) await makeFolders(root, each, settings.dirMode)
  }
  for (const { from } of moves) writer.compressor.withdraw(from)
  // At one go: whoever reads the folder meanwhile sees as little as possible of it.
  for (const { from, to } of moves) {
    try {
      renameSync(from, to)
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
  for (const folder of touched) await syncFolder(folder)
}

/** Removes what waits for a place that it will never get. Its writer may live, but has lost the stream. */
export async function clearStaging(
  writer: Writer,
  place: Place,
  { staged = [], receipts = [], confirm }: Pick<Wanted, 'staged' | 'confirm'> & Partial<Wanted>,
): Promise<void> {
  const folder = await findFolder(writer.root, stagingOf(place).folders)
  if (folder === undefined) return
  const own = { store: writer.store, sink: writer.settings.name }
  // A part that a receipt names is moved, by this pump or the next, whatever kept it here until now.
  const known = new Set([...staged, ...receipts].map(({ part }) => part))
  const left = (await listParts(folder)).filter(
    (part) =>
      !known.has(part.name) && whyForeign(part, own, undefined, (id) => writer.ownerOf(id)) === undefined,
  )
  if (left.length > 0) {
    await confirm()
    for (const part of left) for (const path of formsOf(part)) await unlink(path)
  }
  if (staged.length > 0) return
  await rmdir(folder).catch(() => undefined)
}

/** Whether one of these parts waits for its place, or gave way to others. */
export async function isHidden(path: string, stream: Stream, parts: readonly string[]): Promise<boolean> {
  const root = parts.length === 0 ? undefined : await findRoot(path)
  if (root === undefined) return false
  const place = placeOf(stream)
  for (const { folders } of [stagingOf(place), replacedOf(place)]) {
    const folder = await findFolder(root, folders)
    if (folder === undefined) continue
    for (const part of parts) if ((await lookAtPart(folder, part)) !== undefined) return true
  }
  return false
}

/** False when a committed line of what is staged here is gone. Parts on another host's disk are that host's business. */
export async function isStagingWhole(
  writer: Writer,
  place: Place,
  staged: readonly Receipt[],
): Promise<boolean> {
  const folder = await findFolder(writer.root, stagingOf(place).folders)
  for (const { part, bytes, writer: id } of staged) {
    if (bytes === 0 || writer.ownerOf(id) === undefined) continue
    const found = folder === undefined ? undefined : await lookAtPart(folder, part)
    if ((found?.plain?.size ?? 0) < bytes) return false
  }
  return true
}
