import { cut, pad, widestOf } from '../../domain/text/text-width.ts'

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

function columnWidth({ title, cells, most = Infinity }: Column): number {
  return Math.min(most, widestOf([title, ...cells]))
}
