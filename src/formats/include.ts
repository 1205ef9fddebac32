import type { Event, JsonObject } from '../domain/event/event.ts'
import { jsonLine } from './line.ts'

/** Which bulky parts of an event a line holds besides its fields. */
export interface Include {
  /** The labels as received, empty ones included. */
  readonly labels: boolean
  /** The decoded log. */
  readonly log: boolean
  /** The whole entry as received, redacted. */
  readonly raw: boolean
}

/** What a sink asks for; the format decides about the rest. */
export type Wanted = { readonly [Part in keyof Include]?: boolean | undefined }

export function withDefaults(wanted: Wanted, { labels, log, raw }: Include): Include {
  return { labels: wanted.labels ?? labels, log: wanted.log ?? log, raw: wanted.raw ?? raw }
}

/** Lines of the SIEM formats hold the entry once: labels and log are parts of it. */
export const rawOnly: Include = { labels: false, log: false, raw: true }

/** The parts that were asked for; undefined for each other one. */
export function included(
  { labels, log }: Event,
  include: Include,
): { labels: JsonObject | undefined; log: JsonObject | undefined } {
  return { labels: include.labels ? labels : undefined, log: include.log ? log : undefined }
}

/** The entry as JSON text, for formats whose schema has a text for it. */
export function rawText(event: Event, { raw }: Include): string | undefined {
  return raw ? jsonLine(event.raw()) : undefined
}
