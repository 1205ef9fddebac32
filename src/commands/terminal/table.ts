import { cut, pad, widestOf } from '../../domain/text/terminal-text.ts'

/** One column of a table whose cells may be painted. */
export interface Column {
  readonly title: string
  readonly cells: readonly string[]
  readonly align?: 'left' | 'right'
  /** The widest that the column becomes; a longer cell is cut. */
  readonly most?: number
  /** Called with the padded cell, which it may only colour. */
  readonly paint?: (cell: string, row: number) => string
}

const gap = '  '

/** The width of the columns side by side. */
export function widthOf(columns: readonly Column[]): number {
  let width = -gap.length
  for (const column of columns) width += gap.length + columnWidth(column)
  return width
}

/** The header and a line a row, each as wide as the columns. */
export function columnLines(columns: readonly Column[]): { header: string; rows: string[] } {
  const widths = columns.map(columnWidth)
  const cellOf = (text: string, index: number) => {
    const width = widths[index] ?? 0
    return pad(cut(text, width), width, columns[index]?.align)
  }
  const count = Math.max(0, ...columns.map(({ cells }) => cells.length))
  const rows = Array.from({ length: count }, (_, row) =>
    columns
      .map(({ cells, paint = (cell) => cell }, index) => paint(cellOf(cells[row] ?? '', index), row))
      .join(gap),
  )
  return { header: columns.map(({ title }, index) => cellOf(title, index)).join(gap), rows }
}

/** The same without columns that would be empty. */
export function filledTableLines(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  look?: Parameters<typeof tableLines>[2],
): string[] {
  const isFilled = (_: string, index: number) => rows.some((row) => row[index] !== '')
  return tableLines(
    titles.filter(isFilled),
    rows.map((row) => row.filter(isFilled)),
    look,
  )
}

/** Rows of texts under a header; a line beyond the width is cut with `…`. */
export function tableLines(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  { indent = '', width = Infinity }: { readonly indent?: string; readonly width?: number } = {},
): string[] {
  const columns = titles.map((title, index) => ({ title, cells: rows.map((row) => row[index] ?? '') }))
  const { header, rows: lines } = columnLines(columns)
  return [header, ...lines].map((line) => cut(indent + line.trimEnd(), width))
}

function columnWidth({ title, cells, most = Infinity }: Column): number {
  return Math.min(most, widestOf([title, ...cells]))
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar of that many columns; fractions show as narrower blocks. */
export function barOf(width: number): string {
  const whole = Math.floor(width)
  return `${'█'.repeat(whole)}${eighths[Math.floor((width - whole) * 8)] ?? ''}`
}

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
