import type { Identity, JsonObject } from './event.ts'

/** What a line in a file tells of its event, so that the event can be made again. */
export interface KeptEvent extends Identity {
  readonly zone: number
  /** What it was made of: the entry as it was received, or what was made of two of its members. Redacted either way. */
  readonly of: { readonly raw: JsonObject } | { readonly labels: JsonObject; readonly log: JsonObject }
}
