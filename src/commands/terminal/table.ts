import { cut, pad, widestOf } from '../../domain/text/terminal-text.ts'
import type { Paint } from './text.ts'

/** One column of a table whose cells may be painted. */
export interface Column {
  readonly title: string
  readonly cells: readonly string[]
  readonly align?: 'left' | 'right'
  /** The widest that the column becomes; a longer cell is cut. */
  readonly most?: number
  /** Where the lines are too long, the column shrinks to this width. */
  readonly least?: number
  /** Left out where the lines are still too long; the one with the smallest number first. */
  readonly spare?: number
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

/** The header and a line a row: no longer than the terminal if columns can shrink or be left out, whole in a pipe. */
export function table(columns: readonly Column[], { isPiped, width, dim }: Paint): string[] {
  // Some terminals wrap in the last column.
  const shown = isPiped
    ? columns.map((column) => ({ ...column, most: Infinity }))
    : fitting(columns, width - 1)
  const { header, rows } = columnLines(shown)
  return [dim(header), ...rows]
}

/** A column of bars, each from 0 to 1 of its width; none in a pipe. */
export function barColumns(
  shares: readonly (number | undefined)[],
  width: number,
  { isPiped }: Paint,
): Column[] {
  return isPiped
    ? []
    : [{ title: '', cells: shares.map((share = 0) => barOf(Math.min(1, share) * width)), spare: 0 }]
}

/** The header and a line a row. */
export function columnLines(shown: readonly Column[]): { header: string; rows: string[] } {
  const widths = shown.map(columnWidth)
  const count = Math.max(0, ...shown.map(({ cells }) => cells.length))
  const line = (cellOf: (column: Column) => string, painted = (_: Column, cell: string) => cell) =>
    shown
      .map((column, index) => {
        const own = widths[index]!
        return painted(column, pad(cut(cellOf(column), own), own, column.align))
      })
      .join(gap)
      .trimEnd()
  return {
    header: line(({ title }) => title),
    rows: Array.from({ length: count }, (_, row) =>
      line(
        ({ cells }) => cells[row] ?? '',
        ({ paint }, cell) => paint?.(cell, row) ?? cell,
      ),
    ),
  }
}

function fitting(columns: readonly Column[], width: number): readonly Column[] {
  const over = widthOf(columns) - width
  if (over <= 0) return columns
  let room = 0
  for (const column of columns) room += Math.max(0, columnWidth(column) - leastOf(column))
  const spares = columns.flatMap(({ spare }) => spare ?? [])
  if (room >= over || spares.length === 0) return shrunk(columns, over)
  const gone = columns.findIndex(({ spare }) => spare === Math.min(...spares))
  return fitting(columns.toSpliced(gone, 1), width)
}

/** The widest columns shrink first. */
function shrunk(columns: readonly Column[], over: number): Column[] {
  const widths = columns.map(columnWidth)
  for (let left = over; left > 0; left--) {
    const shrinkable = widths.map((width, index) => (width > leastOf(columns[index]!) ? width : 0))
    const widest = Math.max(...shrinkable)
    if (widest === 0) break
    widths[shrinkable.indexOf(widest)]!--
  }
  return columns.map((column, index) => ({ ...column, most: widths[index]! }))
}

function leastOf({ least = Infinity }: Column): number {
  return least
}

function columnWidth({ title, cells, most = Infinity }: Column): number {
  return Math.min(most, widestOf([title, ...cells]))
}

/** Texts in columns under a header, without columns that would be empty; a line beyond the width is cut with `…`. */
export function tableLines(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  { indent = '', width = Infinity }: { readonly indent?: string; readonly width?: number } = {},
): string[] {
  const columns = titles
    .map((title, index) => ({ title, cells: rows.map((row) => row[index] ?? '') }))
    .filter(({ cells }) => cells.length === 0 || cells.some((cell) => cell !== ''))
  const { header, rows: lines } = columnLines(columns)
  return [header, ...lines].map((line) => cut(indent + line, width))
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
