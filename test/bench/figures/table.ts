import { isReached, spreadOf, type Figure } from './figure.ts'

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
