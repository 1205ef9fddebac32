/**
 * Offset of the server's clock from ours, in ms. Its Date header has whole seconds and was written at some time between
 * sending and receiving, so a range of offsets fits. This returns the one nearest to zero: clocks that agree give 0
 * instead of a different fraction of a second for each answer.
 */
export function clockOffsetOf(serverDate: number, sentAtMs: number, receivedAtMs: number): number {
  const lowest = serverDate - receivedAtMs
  const highest = serverDate + 999 - sentAtMs
  if (lowest > 0) return lowest
  return highest < 0 ? highest : 0
}
