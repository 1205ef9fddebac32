import type { Identity } from './event.ts'
import type { JsonObject } from '../text/json.ts'

/** What a line in a file holds of its event: enough to rebuild the event. */
export interface KeptEvent extends Identity {
  readonly zone: number
  /** What to rebuild it from: the entry as received, or the decoded `labels` and `log`. Redacted in both cases. */
  readonly of: { readonly raw: JsonObject } | { readonly labels: JsonObject; readonly log: JsonObject }
}
