/** One figure with what it was measured from. */
export interface Figure {
  /** What was measured. */
  readonly name: string
  readonly value: number
  /** Of the value, and of its limit. */
  readonly unit: string
  /** What is asked for; absent for a value that only explains another one. */
  readonly limit?: { readonly atLeast: number } | { readonly atMost: number }
  readonly detail?: string
}

export function isReached({ value, limit }: Figure): boolean {
  if (limit === undefined) return true
  return 'atLeast' in limit ? value >= limit.atLeast : value <= limit.atMost
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${rounded(figure.value)}${figure.unit === '' ? '' : ` ${figure.unit}`}`,
    limitText(figure),
    figure.detail ?? '',
  ])
  const all = [['figure', 'measured', 'asked', ''], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]!.length)))
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}

function limitText(figure: Figure): string {
  const { limit } = figure
  if (limit === undefined) return ''
  const text = 'atLeast' in limit ? `>= ${limit.atLeast}` : `<= ${limit.atMost}`
  return `${text} ${isReached(figure) ? 'yes' : 'NO'}`
}

function rounded(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en')
  return value >= 20 ? value.toFixed(0) : value.toFixed(2)
}
