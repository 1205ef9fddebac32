import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { isReached, spreadOf, type Figure, rounded, spreadText, textTable, withUnit } from './figure.ts'
import { projectFolder } from '../../setup/project-folder.ts'

/** Where figures were measured. */
export interface Machine {
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
