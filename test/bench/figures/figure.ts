/** One figure with what it was measured from. */
export interface Figure {
  /** What was measured; names the row in a comparison with another run. */
  readonly name: string
  readonly value: number
  /** Of the value, and of its limit. */
  readonly unit: string
  /** What each round gave, where there were several; the value is their median. */
  readonly rounds?: readonly number[]
  /** What is asked for; absent for a value that only explains another one. */
  readonly limit?: { readonly atLeast: number } | { readonly atMost: number }
  readonly detail?: string
}

/** The median of what the rounds gave, with all of it. */
export function ofRounds(rounds: readonly number[]): Pick<Figure, 'value' | 'rounds'> {
  return { value: median(rounds), rounds }
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

/** The least and the most of the rounds; twice the value without any. */
export function spreadOf({ value, rounds = [value] }: Figure): readonly [least: number, most: number] {
  return [Math.min(...rounds), Math.max(...rounds)]
}

/** The figures as a table of text. */
export function tableOf(figures: readonly Figure[]): string {
  return textTable([
    ['figure', 'measured', 'min..max', 'asked', ''],
    ...figures.map((figure) => [
      figure.name,
      withUnit(figure),
      spreadText(figure),
      limitText(figure),
      figure.detail ?? '',
    ]),
  ])
}

/** Rows of cells, in columns. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.slice(0, -1).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}

export function withUnit({ value, unit }: Pick<Figure, 'value' | 'unit'>): string {
  return `${rounded(value)}${unit === '' ? '' : ` ${unit}`}`
}

export function spreadText(figure: Figure): string {
  if (figure.rounds === undefined) return ''
  return spreadOf(figure).map(rounded).join('..')
}

export function rounded(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en')
  return value >= 20 ? value.toFixed(0) : value.toFixed(2)
}

function limitText(figure: Figure): string {
  const { limit } = figure
  if (limit === undefined) return ''
  const text = 'atLeast' in limit ? `>= ${limit.atLeast}` : `<= ${limit.atMost}`
  return `${text} ${isReached(figure) ? 'yes' : 'NO'}`
}
