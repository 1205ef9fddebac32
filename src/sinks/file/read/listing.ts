import type { Stats } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { lookAt } from '../directory.ts'
import {
  compressedSuffixes,
  extension,
  parsePartName,
  type CompressedSuffix,
  type PartName,
} from '../part.ts'

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
