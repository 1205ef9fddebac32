import type { Stats } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UTCDateMini } from '@date-fns/utc/date/mini'
import { formatISO } from 'date-fns/formatISO'
import { parseDay } from '../../domain/day.ts'
import { Failure } from '../../domain/failure.ts'
import type { FileSinkSettings } from './config.ts'
import { lookAt } from './files.ts'

/** `<number>-<opened at>-<writer>.ndjson`: sorts by number, and names its age (by the sink's clock) and its writer. */
export interface PartName {
  readonly name: string
  /** Counts the parts of a stream, over all writers. */
  readonly number: number
  readonly openedAtMs: number
  readonly writer: string
}

export const extension = '.ndjson'
export const compressedSuffixes = ['.gz', '.zst'] as const
type CompressedSuffix = (typeof compressedSuffixes)[number]

const pattern = /^(\d{4,12})-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-([a-z0-9]{4,32})\.ndjson$/

export function partName(number: number, openedAtMs: number, writer: string): PartName {
  const openedAt = formatISO(new UTCDateMini(openedAtMs), { format: 'basic' })
  const name = `${String(number).padStart(4, '0')}-${openedAt}-${writer}${extension}`
  return { name, number, openedAtMs: Math.floor(openedAtMs / 1000) * 1000, writer }
}

/** Parses a part name; undefined for a name of another form. */
export function parsePartName(name: string): PartName | undefined {
  const match = pattern.exec(name)
  if (match === null) return undefined
  const [, number, year, month, date, hours, minutes, seconds, writer] = match
  const openedAtMs = Date.parse(`${year}-${month}-${date}T${hours}:${minutes}:${seconds}Z`)
  if (Number.isNaN(openedAtMs)) return undefined
  return { name, number: Number(number), openedAtMs, writer: writer! }
}

/** Where the parts of a zone's day are, below the sink's path. */
export interface Place {
  readonly folders: readonly string[]
  /** `zone=<id>/day=<YYYY-MM-DD>`, used in messages and as a key. */
  readonly relative: string
}

/** The only mapping from a stream to a path. Throws Failure (refuse) for an invalid zone or day: a bug. */
export function placeOf(stream: { readonly zone: number; readonly day: string }): Place {
  if (!Number.isSafeInteger(stream.zone) || stream.zone < 0)
    throw new Failure('refuse', 'unwritable', `no folder for zone ${String(stream.zone)}: not a whole number`)
  if (parseDay(stream.day) === undefined)
    throw new Failure(
      'refuse',
      'unwritable',
      `no folder for day ${JSON.stringify(stream.day)}: not YYYY-MM-DD`,
    )
  const folders = [`zone=${stream.zone}`, `day=${stream.day}`] as const
  return { folders, relative: folders.join('/') }
}

/** The files of one part in its folder. */
export interface PartOnDisk {
  readonly name: string
  readonly path: string
  /** Absent for a name of another form. */
  readonly parsed?: PartName
  readonly plain?: Stats
  readonly compressed?: { readonly suffix: CompressedSuffix; readonly path: string; readonly stats: Stats }
  /** Temporary files of unfinished compressions. */
  readonly unfinished: readonly string[]
  /** An entry with that name is not a regular file: it is never read, cut or written. */
  readonly irregular: boolean
}

/** All parts in a stream's folder, by name. */
export async function listParts(folder: string): Promise<PartOnDisk[]> {
  const files = new Map<string, string[]>()
  for (const file of await readdir(folder)) {
    const part = partOf(file)
    if (part === undefined) continue
    const forms = files.get(part)
    if (forms === undefined) files.set(part, [file])
    else forms.push(file)
  }
  const parts: PartOnDisk[] = []
  for (const name of [...files.keys()].sort()) {
    const part = await lookAtPart(folder, name, files.get(name))
    if (part !== undefined) parts.push(part)
  }
  return parts
}

/** The current files of one part; undefined when none exists. */
export async function lookAtPart(
  folder: string,
  name: string,
  files: readonly string[] = formsOf(name),
): Promise<PartOnDisk | undefined> {
  const path = join(folder, name)
  const unfinished: string[] = []
  let plain: Stats | undefined
  let compressed: PartOnDisk['compressed']
  let irregular = false
  for (const file of files) {
    const filePath = join(folder, file)
    const stats = await lookAt(filePath)
    if (stats === undefined) continue
    if (!stats.isFile()) irregular = true
    else if (file.startsWith('.')) unfinished.push(filePath)
    else if (file === name) plain = stats
    else compressed ??= { suffix: file.slice(name.length) as CompressedSuffix, path: filePath, stats }
  }
  // The part was compressed after the folder was listed.
  if (
    plain === undefined &&
    compressed === undefined &&
    files.includes(name) &&
    files.length < formsOf(name).length
  )
    return await lookAtPart(folder, name)
  if (plain === undefined && compressed === undefined && unfinished.length === 0 && !irregular)
    return undefined
  const parsed = parsePartName(name)
  return {
    name,
    path,
    unfinished,
    irregular,
    ...(parsed === undefined ? {} : { parsed }),
    ...(plain === undefined ? {} : { plain }),
    ...(compressed === undefined ? {} : { compressed }),
  }
}

/** Name of the part that a file belongs to; undefined for files of other programs. */
function partOf(file: string): string | undefined {
  const suffix = compressedSuffixes.find((suffix) => file.endsWith(suffix))
  const name = suffix === undefined ? file : file.slice(0, -suffix.length)
  if (!name.endsWith(extension)) return undefined
  if (!name.startsWith('.')) return name
  // Only the temporary names that this sink uses count; other hidden files are ignored.
  const hidden = name.slice(1)
  return suffix !== undefined && parsePartName(hidden) !== undefined ? hidden : undefined
}

function formsOf(name: string): string[] {
  return [name, ...compressedSuffixes.flatMap((suffix) => [name + suffix, unfinishedName(name, suffix)])]
}

export function unfinishedName(name: string, suffix: CompressedSuffix): string {
  return `.${name}${suffix}`
}

/** True for a part that takes no further delivery. All processes agree, so it may be compressed. */
export function isFull(
  settings: Pick<FileSinkSettings, 'rotate'>,
  { bytes, openedAtMs }: { readonly bytes: number; readonly openedAtMs: number },
  nowMs: number,
): boolean {
  return bytes >= settings.rotate.maxBytes || nowMs >= fullAt(settings, openedAtMs)
}

/** Time at which a part is closed by its age. */
export function fullAt(settings: Pick<FileSinkSettings, 'rotate'>, openedAtMs: number): number {
  return openedAtMs + settings.rotate.maxAgeMinutes * 60_000
}
