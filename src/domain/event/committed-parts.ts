import type { CommittedPart } from './delivery.ts'

export function mergeCommitted(
  held: readonly CommittedPart[],
  changed: readonly CommittedPart[],
): readonly CommittedPart[] {
  if (changed.length === 0) return held
  return [
    ...held.filter((committedPart) => !changed.some((other) => other.part === committedPart.part)),
    ...changed,
  ]
}
