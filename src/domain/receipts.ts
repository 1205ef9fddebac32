import type { Receipt } from './delivery.ts'

export function mergeReceipts(held: readonly Receipt[], changed: readonly Receipt[]): readonly Receipt[] {
  if (changed.length === 0) return held
  return [...held.filter((receipt) => !changed.some((other) => other.part === receipt.part)), ...changed]
}
