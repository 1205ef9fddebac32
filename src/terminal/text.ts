import { countText, sumOf, wrap, cut, pad, widestOf } from '../domain/text/terminal-text.ts'
import { inertJson } from '../domain/text/json.ts'
import type { Output } from './io.ts'

// Made at the first use: it takes 10 ms of the start.
let compact: Intl.NumberFormat | undefined

/** `1.2 M`. */
export function aboutText(count: number): string {
  compact ??= new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
  return compact.format(count).replace(/(?<=\d)(?=[A-Z])/, ' ')
}

type Counts = readonly (readonly [count: number, what: string])[]

/** What there is any of, in plain digits, for lines that also go into logs: `3000 missing`, not `0 extra`. */
export function plainSomeOf(...counts: Counts): string[] {
  return counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
}

/** A result as indented JSON, with terminal control characters escaped. */
export function jsonResult(value: unknown): string {
  return `${inertJson(JSON.stringify(value, null, 2))}\n`
}

export interface Paint {
  readonly width: number
  /** Lines of the terminal; Infinity in a pipe. */
  readonly rows: number
  /** Not a terminal: no bars, no cuts, plain digits. */
  readonly isPiped: boolean
  /** `182,440`, and in a pipe `182440`. */
  count(count: number): string
  good(text: string): string
  bad(text: string): string
  warn(text: string): string
  dim(text: string): string
}

const narrowest = 60
const widest = 160
const usual = 100
const usualRows = 24
/** Output to a pipe is not cut. */
const piped = 10_000

/** Colours where the terminal has them and NO_COLOR is not set; the line width of the terminal, within limits. */
export function paintFor(output: Output): Paint {
  const hasColors = output.isTTY === true && output.hasColors?.() === true
  const painted = (code: number) => (text: string) => (hasColors ? `\u001B[${code}m${text}\u001B[0m` : text)
  // Some terminals report no size: 0 rows of 0 columns.
  const { rows = 0, columns = 0 } = output
  const terminal = Math.min(widest, Math.max(narrowest, columns === 0 ? usual : columns))
  const isPiped = output.isTTY !== true
  return {
    width: isPiped ? piped : terminal,
    rows: isPiped ? Infinity : rows === 0 ? usualRows : rows,
    isPiped,
    count: isPiped ? String : countText,
    good: painted(32),
    bad: painted(31),
    warn: painted(33),
    dim: painted(2),
  }
}

/** The text, wrapped at words on a terminal; unchanged elsewhere, so that scripts find an error on one line. */
export function wrapped(message: string, output: Output): string {
  if (output.isTTY !== true) return message
  const { width } = paintFor(output)
  const lines = message
    .split('\n')
    .flatMap((line) => wrap(line.trimStart(), /^ */.exec(line)?.[0] ?? '', width))
  return lines.join('\n')
}

/** A column of a table: its title, the text of a row, and how it gives way. */
export type Column<Row> = readonly [title: string, textOf: (row: Row) => string, more?: Layout<Row>]

interface Layout<Row> {
  readonly align?: 'left' | 'right'
  /** The widest that the column becomes on a terminal; a longer cell is cut. */
  readonly most?: number
  /** Where the lines are too long, the column shrinks to this width. */
  readonly least?: number
  /** Left out where the lines are still too long; the one with the smallest number first. */
  readonly spare?: number
  /** Called with the padded cell, which it may only colour. */
  readonly paint?: (cell: string, row: Row) => string
}

interface Filled<Row> extends Layout<Row> {
  readonly title: string
  readonly cells: readonly string[]
  readonly width: number
}

const gap = '  '

/** Without columns that would be empty; no longer than the terminal if columns can shrink or go, whole in a pipe. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { isPiped, width, dim }: Pick<Paint, 'isPiped' | 'width' | 'dim'>,
): string[] {
  const filled = filledColumns(rows, columns, isPiped)
  // Some terminals wrap in the last column.
  const shown = isPiped ? filled : fitting(filled, width - 1)
  const line = (cellOf: (column: Filled<Row>) => string, painted = (_: Filled<Row>, cell: string) => cell) =>
    shown
      .map((column) => painted(column, pad(cut(cellOf(column), column.width), column.width, column.align)))
      .join(gap)
      .trimEnd()
  const lines = rows.map((row, index) =>
    line(
      ({ cells }) => cells[index]!,
      ({ paint }, cell) => paint?.(cell, row) ?? cell,
    ),
  )
  const header = line(({ title }) => title)
  return [...(header === '' ? [] : [dim(header)]), ...lines]
}

/** Columns that the table takes where it has room. */
export function tableWidth<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { isPiped }: Pick<Paint, 'isPiped'>,
): number {
  return widthOf(filledColumns(rows, columns, isPiped))
}

function filledColumns<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  isPiped: boolean,
): Filled<Row>[] {
  return columns.flatMap(([title, textOf, more = {}]) => {
    const cells = rows.map(textOf)
    const most = isPiped ? Infinity : (more.most ?? Infinity)
    return cells.every((cell) => cell === '')
      ? []
      : [{ ...more, title, cells, width: Math.min(most, widestOf([title, ...cells])) }]
  })
}

function widthOf<Row>(columns: readonly Filled<Row>[]): number {
  return sumOf(columns, 'width') + gap.length * (columns.length - 1)
}

/** A column of bars, each from 0 to 1 of its width; none in a pipe. */
export function bars<Row>(shareOf: (row: Row) => number, width: number, { isPiped }: Paint): Column<Row> {
  return ['', (row) => (isPiped ? '' : barOf(Math.min(1, shareOf(row)) * width)), { spare: 0 }]
}

/** The widest columns shrink first; where that is not enough, a spare one goes. */
function fitting<Row>(columns: readonly Filled<Row>[], width: number): readonly Filled<Row>[] {
  const widths = columns.map((column) => column.width)
  for (let over = widthOf(columns) - width; over > 0; over--) {
    const shrinkable = columns.map(({ least = Infinity }, index) =>
      widths[index]! > least ? widths[index]! : 0,
    )
    const widest = Math.max(...shrinkable)
    if (widest > 0) widths[shrinkable.indexOf(widest)]!--
    else {
      const spares = columns.flatMap(({ spare }) => spare ?? [])
      if (spares.length === 0) break
      const gone = columns.findIndex(({ spare }) => spare === Math.min(...spares))
      return fitting(columns.toSpliced(gone, 1), width)
    }
  }
  return columns.map((column, index) => ({ ...column, width: widths[index]! }))
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
