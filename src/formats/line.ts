import type { Event, Identity } from '../domain/event/event.ts'
import { parsedJson } from '../domain/text/decode.ts'
import { jsonText, oneLineJson, isObject, type Json, type JsonObject } from '../domain/text/json.ts'
import type { Format, Table } from '../ports/delivery.ts'

/**
 * Encodes one value as one line of JSON that every reader accepts. JSON.stringify escapes a lone surrogate, and strict
 * readers then refuse the whole request, so it becomes U+FFFD. The pattern matches two backslashes first: after an
 * escaped backslash the same letters are plain text.
 */
export function jsonLine(value: unknown): string {
  const line = oneLineJson(jsonText(value))
  if (!line.includes('\\ud')) return line
  return line.replace(/\\(?:\\|ud[89a-f][\da-f]{2})/g, (found) => (found === '\\\\' ? found : '\ufffd'))
}

/** Parses the JSON object of a line; undefined for an incomplete line or any other value. */
export function readObject(line: string, parse = parsedJson): JsonObject | undefined {
  if (!line.startsWith('{')) return undefined
  const value = parse(line)
  return isObject(value) ? value : undefined
}

/** Reads the identity of a line of JSON at these paths; `marks` are the values that only lines of its format have. */
export function identifyBy(id: string, time: string, marks: Readonly<Record<string, Json>>) {
  return (line: string): Identity | undefined => {
    const read = readObject(line)
    const at = (path: string) =>
      path.split('.').reduce<unknown>((held, key) => (isObject(held) ? held[key] : undefined), read)
    const isOwn = Object.entries(marks).every(([path, value]) => at(path) === value)
    return isOwn ? identityIn(at(id), at(time)) : undefined
  }
}

/** The identity that a line holds; undefined without an id. What is not text is no time. */
export function identityIn(id: unknown, time: unknown): Identity | undefined {
  if (typeof id !== 'string' || id === '') return undefined
  return typeof time === 'string' ? { id, time } : { id }
}

/** The large parts of an event that a line contains in addition to its fields; undefined for the others. */
export interface Parts {
  /** The labels as received, including empty ones. */
  readonly labels: JsonObject | undefined
  /** The decoded log. */
  readonly log: JsonObject | undefined
  /** What no field carries; without another default it is included with labels or log. */
  readonly other: JsonObject | undefined
  /** The whole entry as received, redacted. */
  readonly raw: JsonObject | undefined
  /** The constants of the sink. */
  readonly set: Constants | undefined
}

export type Constants = Readonly<Record<string, string>>

/** What a sink is configured to include; the format decides about the others. */
export type Wanted = { readonly [Part in 'labels' | 'log' | 'other' | 'raw']?: boolean | undefined }

interface Lines extends Pick<Format, 'name' | 'identify' | 'readBack'> {
  /** Default: lines of JSON. */
  readonly mediaType?: string
  /** Default: fields only, since SIEMs bill by the gigabyte. */
  readonly defaults?: Wanted
  readonly encode: (event: Event, parts: Parts) => string
  /** Its columns, with what a sink includes. */
  readonly table?: (partsOf: (event: Event) => Parts) => Table
}

/** A format as a function of what a sink is configured to include. */
export function lineFormat({
  defaults = {},
  encode,
  table,
  ...rest
}: Lines): (wanted?: Wanted, set?: Constants) => Format {
  return (wanted = {}, set) => {
    const { labels = defaults.labels, log = defaults.log, raw = defaults.raw } = wanted
    const { other = defaults.other ?? (labels === true || log === true) } = wanted
    const partsOf = (event: Event): Parts => ({
      labels: labels === true ? event.labels : undefined,
      log: log === true ? event.log : undefined,
      other: other ? event.other : undefined,
      raw: raw === true ? event.raw() : undefined,
      set,
    })
    return {
      mediaType: 'application/x-ndjson',
      ...rest,
      encode: (event) => encode(event, partsOf(event)),
      ...(table && { table: table(partsOf) }),
    }
  }
}

/** A line that is an archive too contains labels and log, but not the entry as received. */
export const labelsAndLog: Wanted = { labels: true, log: true }
