const levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** A bar for each value, from the lowest for 0 to the highest for `most` and above; a space for undefined. */
export function sparkline(values: readonly (number | undefined)[], most: number): string {
  return values
    .map((value) => {
      if (value === undefined) return ' '
      const share = most <= 0 ? 0 : Math.min(1, Math.max(0, value) / most)
      return levels[Math.round(share * (levels.length - 1))]
    })
    .join('')
}
