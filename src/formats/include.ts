import type { Event } from '../domain/event/event.ts'
import type { JsonObject } from '../domain/text/json.ts'
import { jsonLine } from './line.ts'

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

export function withDefaults(wanted: Wanted, { labels, log, raw }: Include): Include {
  return { labels: wanted.labels ?? labels, log: wanted.log ?? log, raw: wanted.raw ?? raw }
}

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
