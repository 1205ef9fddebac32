import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { projectFolder } from '../setup/project-folder.ts'

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
function spreadOf({ value, rounds = [value] }: Figure): readonly [least: number, most: number] {
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
function textTable(rows: readonly (readonly string[])[]): string {
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

function spreadText(figure: Figure): string {
  if (figure.rounds === undefined) return ''
  return spreadOf(figure).map(rounded).join('..')
}

function rounded(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en')
  return value >= 20 ? value.toFixed(0) : value.toFixed(2)
}

function limitText(figure: Figure): string {
  const { limit } = figure
  if (limit === undefined) return ''
  const text = 'atLeast' in limit ? `>= ${limit.atLeast}` : `<= ${limit.atMost}`
  return `${text} ${isReached(figure) ? 'yes' : 'NO'}`
}

/** Where figures were measured. */
interface Machine {
  readonly node: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  /** Processes that wanted a core, on average over the minute before, and over the last one. */
  readonly loadBefore: number
  readonly loadAfter: number
}

export function machineSince(loadBefore: number): Machine {
  return {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    loadBefore,
    loadAfter: loadavg()[0]!,
  }
}

/** What `--json` writes. */
export interface Report {
  readonly machine: Machine
  readonly figures: readonly Figure[]
}

export function writeReport(file: string, { machine, figures }: Report): void {
  const told = figures.map((figure) => ({ ...figure, reached: isReached(figure) }))
  writeFileSync(file, `${JSON.stringify({ machine, figures: told }, null, 2)}\n`)
}

/** Writes the figures over those of the same name in the file, and leaves the others there. */
export function mergeReport(file: string, { machine, figures }: Report): void {
  const held = existsSync(file) ? readReport(file).figures : []
  const names = new Set(figures.map(({ name }) => name))
  writeReport(file, { machine, figures: [...held.filter(({ name }) => !names.has(name)), ...figures] })
}

export function readReport(file: string): Report {
  return JSON.parse(readFileSync(file, 'utf8')) as Report
}

/** Each figure that both runs have, its change, and whether all rounds of one lie beyond all of the other. */
export function comparisonOf(figures: readonly Figure[], { figures: earlier }: Report): string {
  const before = new Map(earlier.map((figure) => [figure.name, figure]))
  const rows = figures.flatMap((figure) => {
    const old = before.get(figure.name)
    return old === undefined ? [] : [rowOf(old, figure)]
  })
  return textTable([['figure', 'before', 'now', 'change', ''], ...rows])
}

function rowOf(old: Figure, now: Figure): string[] {
  const change = old.value === 0 ? 0 : (now.value / old.value - 1) * 100
  const sign = change > 0 ? '+' : ''
  const text = (figure: Figure) => [withUnit(figure), spreadText(figure)].filter(Boolean).join(' ')
  return [
    now.name,
    text(old),
    text(now),
    `${sign}${rounded(Math.abs(change) < 0.05 ? 0 : change)} %`,
    verdictOf(old, now),
  ]
}

function verdictOf(old: Figure, now: Figure): string {
  if (old.rounds === undefined || now.rounds === undefined) return 'one round: no spread'
  const [[leastBefore, mostBefore], [least, most]] = [spreadOf(old), spreadOf(now)]
  return least > mostBefore || most < leastBefore ? 'beyond the spread' : 'within the spread'
}

/** The figures that the docs show. */
export const figuresFile = `${projectFolder}docs/reference/figures.json`
