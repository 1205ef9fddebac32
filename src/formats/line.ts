import type { Event } from '../domain/event/event.ts'
import { jsonText, oneLineJson } from '../domain/text/json-text.ts'
import { isObject, type JsonObject } from '../domain/text/json.ts'
import type { Format } from '../ports/delivery.ts'

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
export function readObject(line: string): JsonObject | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Which large parts of an event a line contains in addition to its fields. */
export interface Include {
  /** The labels as received, including empty ones. */
  readonly labels: boolean
  /** The decoded log. */
  readonly log: boolean
  /** The whole entry as received, redacted. */
  readonly raw: boolean
}

/** What a sink is configured to include; the format decides about the others. */
export type Wanted = { readonly [Part in keyof Include]?: boolean | undefined }

interface Lines extends Pick<Format, 'name' | 'identify' | 'readBack'> {
  /** Default: lines of JSON. */
  readonly mediaType?: string
  readonly defaults: Include
  readonly encode: (event: Event, include: Include) => string
}

/** A format as a function of what a sink is configured to include. */
export function lineFormat({ defaults, encode, ...rest }: Lines): (wanted?: Wanted) => Format {
  return ({ labels = defaults.labels, log = defaults.log, raw = defaults.raw } = {}) => {
    const include = { labels, log, raw }
    return { mediaType: 'application/x-ndjson', ...rest, encode: (event) => encode(event, include) }
  }
}

/** A line that is an archive too contains labels and log, but not the entry as received. */
export const labelsAndLog: Include = { labels: true, log: true, raw: false }

/** Lines of the SIEM formats contain the entry once, with labels and log in it. */
export const rawOnly: Include = { labels: false, log: false, raw: true }

/** The included parts; undefined for the others. */
export function included(
  { labels, log }: Event,
  include: Include,
): { labels: JsonObject | undefined; log: JsonObject | undefined } {
  return { labels: include.labels ? labels : undefined, log: include.log ? log : undefined }
}

/** The entry as JSON text, for formats whose schema requires text. */
export function rawText(event: Event, { raw }: Include): string | undefined {
  return raw ? jsonLine(event.raw()) : undefined
}
