const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** For people: `45 s`, `12 min`, `1 d 10 h`. */
export function durationText(seconds: number): string {
  if (seconds < 0) return `-${durationText(-seconds)}`
  let left = Math.round(seconds)
  const first = units.findIndex(([, size]) => left >= size)
  if (first === -1) return '0 s'
  const parts: string[] = []
  for (const [name, size] of units.slice(first, first + 2)) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0) parts.push(`${count} ${name}`)
  }
  return parts.join(' ')
}

/** `2026-11-20T13:30:00.000Z` without its fraction. */
export function secondText(iso: string): string {
  return iso.replace(/\.\d+Z$/, 'Z')
}
