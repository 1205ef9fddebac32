/** The known name closest to an unknown one; undefined where none is close. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > 100) return undefined
  let best: string | undefined
  // Fewer than all letters: a name with none in common is not meant.
  let least = Math.min(Math.max(2, Math.floor(name.length / 3)), name.length - 1) + 1
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editDistance(from: string, to: string): number {
  let before: number[] = []
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let distance = Math.min(
        previous[column]! + 1,
        current[column - 1]! + 1,
        previous[column - 1]! + (same ? 0 : 1),
      )
      const swapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) distance = Math.min(distance, before[column - 2]! + 1)
      current.push(distance)
    }
    before = previous
    previous = current
  }
  return previous[to.length]!
}
