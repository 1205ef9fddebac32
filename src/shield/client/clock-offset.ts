/**
 * How far the destination's clock is from ours, in ms. Its Date has whole seconds and was written somewhere between sending
 * and receiving, so a range of offsets would explain it: the one nearest to zero is taken, and clocks that agree give 0
 * instead of a different fraction of a second at each answer.
 */
export function clockOffsetOf(serverDate: number, sentAtMs: number, receivedAtMs: number): number {
  const lowest = serverDate - receivedAtMs
  const highest = serverDate + 999 - sentAtMs
  if (lowest > 0) return lowest
  return highest < 0 ? highest : 0
}
