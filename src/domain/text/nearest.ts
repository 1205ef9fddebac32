/** The known name closest to an unknown one, or the only one that begins with it; undefined where there is none. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  if (name.length > 100) return undefined
  const all = [...names]
  let best: string | undefined
  // Of a short name most letters must be the same: cef is not ecs.
  let least = Math.min(Math.max(2, Math.floor(name.length / 3)), Math.floor(name.length / 2)) + 1
  for (const candidate of all) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < least) [best, least] = [candidate, distance]
  }
  const longer = name.length < 3 ? [] : all.filter((candidate) => candidate.startsWith(name))
  return best ?? (longer.length === 1 ? longer[0] : undefined)
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editDistance(from: string, to: string): number {
  const table = [Array.from({ length: to.length + 1 }, (_, index) => index)]
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const [letter, other] = [from[row - 1], to[column - 1]]
      const replaced = table[row - 1]![column - 1]! + (letter === other ? 0 : 1)
      const isSwap = letter === to[column - 2] && other === from[row - 2]
      const swapped = isSwap ? table[row - 2]![column - 2]! + 1 : replaced
      current.push(Math.min(table[row - 1]![column]! + 1, current[column - 1]! + 1, replaced, swapped))
    }
    table.push(current)
  }
  return table[from.length]![to.length]!
}
