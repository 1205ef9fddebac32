import { constants, type Stats } from 'node:fs'
import { type FileHandle, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { UTCDateMini } from '@date-fns/utc/date/mini'
import { formatISO } from 'date-fns/formatISO'
import { parseISO } from 'date-fns/parseISO'
import type { PartEnd, PartLines } from '../../domain/audit-report.ts'
import { parseDay } from '../../domain/day.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import { Failure } from '../../domain/failure.ts'
import { decoded, isCompressed, linesIn, pieceBytes } from '../part-lines.ts'
import type { FileSinkSettings } from './config.ts'
import { findFolder, guarded, hasCode, lookAt, openExisting } from './files.ts'
import type { ZoneDay } from '../../domain/stream.ts'

/** `<number>-<opened at>-<writer>.ndjson`: sorts by number, and names its age (by the sink's clock) and its writer. */
interface PartName {
  /** Counts the parts of a stream, over all writers. */
  readonly number: number
  readonly openedAtMs: number
  readonly writer: string
}

export const suffixes = { gzip: '.gz', zstd: '.zst' } as const
const compressed = /\.(?:gz|zst)$/
const pattern = /^(\d{4,12})-(\d{8}T\d{6}Z)-([a-z0-9]{4,32})\.ndjson$/

export function partName(number: number, openedAtMs: number, writer: string): string {
  const openedAt = formatISO(new UTCDateMini(openedAtMs), { format: 'basic' })
  return `${String(number).padStart(4, '0')}-${openedAt}-${writer}.ndjson`
}

/** Parses the name of a part, or of its compressed file; undefined for a name of another form. */
export function parsePartName(file: string): PartName | undefined {
  const [, number, openedAt = '', writer = ''] = pattern.exec(file.replace(compressed, '')) ?? []
  const openedAtMs = parseISO(openedAt).getTime()
  return Number.isNaN(openedAtMs) ? undefined : { number: Number(number), openedAtMs, writer }
}

/** 0 for a name of another form. */
export function numberOf(name: string): number {
  return parsePartName(name)?.number ?? 0
}

/**
 * Where the parts of a zone's day are, below the sink's path: `shield_zone=<id>/day=<YYYY-MM-DD>`. The only mapping from a
 * stream to a path. Throws Failure (refuse) for an invalid zone or day: a bug.
 */
export function placeOf({ zone, day }: { readonly zone: number; readonly day: string }): string {
  if (Number.isSafeInteger(zone) && zone >= 0 && parseDay(day) !== undefined)
    return `shield_zone=${zone}/day=${day}`
  throw new Failure(
    'refuse',
    'unwritable',
    `no folder for zone ${String(zone)} and day ${JSON.stringify(day)}`,
  )
}

/** The files of one part in its folder. */
export interface PartOnDisk {
  readonly name: string
  readonly path: string
  readonly plain: Stats | undefined
  /** Path of the compressed file. */
  readonly compressed: string | undefined
  /** An entry with that name is not a regular file: it is never read, cut or written. */
  readonly irregular: boolean
}

/** Names of all parts in a stream's folder. Files of other programs are none. */
export async function partNames(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => !file.startsWith('.'))
  const names = files.map((file) => file.replace(compressed, '')).filter((name) => name.endsWith('.ndjson'))
  return [...new Set(names)]
}

/** The current files of one part; undefined when none exists. */
export async function lookAtPart(folder: string, name: string): Promise<PartOnDisk | undefined> {
  const path = join(folder, name)
  const found: { readonly file: string; readonly stats: Stats }[] = []
  // The plain file first: the compressed one exists before it goes.
  for (const suffix of ['', ...Object.values(suffixes)]) {
    const stats = await lookAt(path + suffix)
    if (stats !== undefined) found.push({ file: path + suffix, stats })
  }
  if (found.length === 0) return undefined
  const regular = found.filter(({ stats }) => stats.isFile())
  return {
    name,
    path,
    plain: regular.find(({ file }) => file === path)?.stats,
    compressed: regular.find(({ file }) => file !== path)?.file,
    irregular: regular.length < found.length,
  }
}

/** From when on a part takes no further delivery, by its size or age. All processes agree, so it may be compressed. */
export function fullAt({ rotate }: Pick<FileSinkSettings, 'rotate'>, { part, bytes }: CommittedPart): number {
  if (bytes >= rotate.maxBytes) return -Infinity
  return parsePartName(part)!.openedAtMs + rotate.maxAgeMinutes * 60_000
}

/**
 * Uncompressed length of a compressed part without decoding it: gzip stores it in its last four bytes (modulo 2^32),
 * zstd in its frame header (this sink always writes it). Undefined where the file does not have it.
 */
export async function compressedLength(path: string): Promise<number | undefined> {
  await using handle = await openExisting(path, constants.O_RDONLY)
  const { size } = await handle.stat()
  if (size < mostHeaderBytes) return undefined
  if (path.endsWith('.gz')) return (await readAt(handle, size - 4, 4)).readUInt32LE(0)
  return zstdLength(await readAt(handle, 0, mostHeaderBytes))
}

/** True when that length matches a part of so many bytes. */
export function isLengthOf(length: number | undefined, path: string, bytes: number): boolean {
  return length === (path.endsWith('.gz') ? bytes % 2 ** 32 : bytes)
}

const mostHeaderBytes = 18

/** RFC 8878, section 3.1.1. */
function zstdLength(head: Buffer): number | undefined {
  if (head.readUInt32LE(0) !== 0xfd2fb528) return undefined
  const descriptor = head[4]!
  const isSingleSegment = (descriptor & 0x20) !== 0
  const at = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!
  const flag = descriptor >> 6
  if (flag === 0) return isSingleSegment ? head[at] : undefined
  // The upper two bytes of eight are zero in any file.
  return head.readUIntLE(at, Math.min(6, 2 ** flag)) + (flag === 1 ? 256 : 0)
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  return (await handle.read(Buffer.alloc(length), 0, length, position)).buffer
}

/** The uncompressed bytes; `from` applies to a plain part only. Follows no link and never blocks on a pipe. */
export async function* readBytes(path: string, from = 0): AsyncGenerator<Buffer> {
  const handle = await openExisting(path, constants.O_RDONLY)
  // The stream closes the file at its end, on an error, and when its reader stops.
  const source = handle.createReadStream({
    start: isCompressed(path) ? 0 : from,
    highWaterMark: pieceBytes,
  })
  yield* decoded(path, source)
}

type Pieces = AsyncGenerator<PartLines | PartEnd>

/**
 * Yields the lines of a stream's parts up to their committed lengths, compressed or not, in bounded pieces. Skips
 * missing parts, which `compareParts` reports. Takes no lock and changes nothing.
 */
export async function* readCommitted(
  path: string,
  place: ZoneDay,
  committed: readonly Pick<CommittedPart, 'part' | 'bytes'>[],
): Pieces {
  const folder = await findFolder(path, placeOf(place))
  if (folder === undefined) return
  for (const { part, bytes } of committed.toSorted((a, b) => (a.part < b.part ? -1 : 1))) {
    const file = fileOf(await lookAtPart(folder, part))
    if (file !== undefined) yield* readPart(folder, file, part, bytes)
  }
}

function fileOf(part: PartOnDisk | undefined): string | undefined {
  return part?.compressed ?? (part?.plain === undefined ? undefined : part.path)
}

async function* readPart(folder: string, file: string, part: string, bytes = Infinity): Pieces {
  let read = file
  async function* pieces() {
    try {
      yield* readBytes(file)
    } catch (error) {
      // The part was compressed since the listing.
      const now = hasCode(error, 'ENOENT') ? fileOf(await lookAtPart(folder, part)) : undefined
      if (now === undefined || now === file) throw error
      read = now
      yield* readBytes(now)
    }
  }
  for await (const piece of linesIn(part, pieces(), bytes))
    yield 'lines' in piece ? piece : { ...piece, isCompressed: !read.endsWith(part) }
}

/**
 * Yields all whole lines of a zone's day below a sink's path, by any writer, part by part in bounded pieces, and after
 * each part how it ended. Reads the compressed file where both exist. Yields nothing where the day has no folder. Takes
 * no lock and changes nothing, so lines of a delivery in progress may be included. Of a copy of cut lines in place of a
 * sink's path it yields those of the zone's day that its name tells. Throws Failure.
 */
export async function* readArchive(path: string, place: ZoneDay): Pieces {
  const name = basename(path)
  if (copyName.test(name)) {
    if (name.startsWith(copyPrefix(placeOf(place)))) yield* readPart(dirname(path), path, name)
    return
  }
  const where = `${path}/${placeOf(place)}`
  const folder = await guarded(where, () => findFolder(path, placeOf(place)))
  if (folder === undefined) return
  for (const part of (await guarded(where, () => partNames(folder))).sort()) {
    const found = await lookAtPart(folder, part)
    // What it held would be missing, and nobody would know.
    if (found === undefined)
      throw new Failure('refuse', 'unwritable', `${where}/${part} was removed while the day was read`)
    const file = fileOf(found)
    if (file !== undefined) yield* readPart(folder, file, part)
  }
}

/** Of a copy that `reconcile` keeps of what it cuts. */
const copyName = /^shield_zone=\d+\.day=\d{4}-\d\d-\d\d\..+\.from-\d+$/

/** How the names of the copies of a place begin. */
export function copyPrefix(place: string): string {
  return `${place.replace('/', '.')}.`
}
