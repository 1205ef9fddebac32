import type { Checkpoint, RequestAnswer } from './checkpoint.ts'

/**
 * A person asks for a complete full scan of a stream that begins after the request (backfill, `run --once`, `audit
 * --repair`). It is due at once. A scan carries the id of the request that it serves, so no clocks are compared. An
 * unfinished scan is completed first.
 */
export interface ReadRequest {
  readonly id: string
  /** The day is read from files of another sink. Default: from the API. */
  readonly source?: 'archive'
}

export function isAnswered(checkpoint: Checkpoint | undefined, { id }: ReadRequest): boolean {
  return checkpoint?.lastRequest?.id === id
}

/** The failures of a read request back off separately from those of the live stream. */
export function requestTroubleOf(checkpoint: Checkpoint | undefined, { id }: ReadRequest) {
  const held = checkpoint?.requestTrouble
  return held?.request === id ? held : undefined
}

export function answerRequest(checkpoint: Checkpoint, answer: RequestAnswer): Checkpoint {
  return { ...checkpoint, requestTrouble: undefined, lastRequest: answer }
}
