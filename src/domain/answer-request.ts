import type { Checkpoint, Trouble } from './checkpoint.ts'
import type { ReadRequest, RequestAnswer } from './read-request.ts'

export function isAnswered(checkpoint: Checkpoint | undefined, { id }: ReadRequest): boolean {
  return checkpoint?.lastRequest?.id === id
}

/** The failures of a read request back off separately from those of the live stream. */
export function requestTroubleOf(
  checkpoint: Checkpoint | undefined,
  { id }: ReadRequest,
): Trouble | undefined {
  const held = checkpoint?.requestTrouble
  return held?.request === id ? held : undefined
}

export function answerRequest(checkpoint: Checkpoint, answer: RequestAnswer): Checkpoint {
  const { requestTrouble: _, ...rest } = checkpoint
  return { ...rest, lastRequest: answer }
}
