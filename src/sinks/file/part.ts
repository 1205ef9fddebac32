import { UTCDateMini } from '@date-fns/utc/date/mini'
import { formatISO } from 'date-fns/formatISO'
import { parseDay } from '../../domain/day.ts'
import { Failure } from '../../domain/failure.ts'

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
export type CompressedSuffix = (typeof compressedSuffixes)[number]

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
