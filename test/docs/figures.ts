import type { Figure } from '../bench/figures/figure.ts'
import { figuresFile } from '../bench/figures/kept.ts'
import { readReport } from '../bench/figures/report.ts'
import { withUnit } from '../bench/figures/table.ts'
import { markdownTable } from './table.ts'

/** Rows of the page about operation, as the bench names them. */
const ofOneProcess = [
  'file: events a second',
  'file: of the bare loop, by time',
  'http: events a second',
  'http: of the bare loop, by time',
  'read again, all seen: of the bare loop, by time',
  'RSS of an idle run, one zone',
  'peak RSS, 100,000 events of a stream',
  'peak RSS, 1,000,000 events of a stream',
  'peak RSS, 500 zones of 3 days',
  'peak RSS, pages of 8 MB on 24 streams',
  'quiet poll at 1,000,000 seen against 1,000: time',
  'quiet poll at 1,000,000 seen against 1,000: bytes of seen loaded',
  'SQLite after the day was shipped',
]

/** What `npm run bench -- --keep` has measured; of fleets a column for each. */
export function figureBlocks(): Record<string, string> {
  const { machine, figures } = readReport(figuresFile)
  const { node, cores, cpu, memoryBytes } = machine
  return {
    figures: markdownTable(
      ['', ''],
      ofOneProcess.flatMap((name) => {
        const found = figures.find((figure) => figure.name === name)
        return found === undefined ? [] : [[name, textOf(found)]]
      }),
    ),
    'figures-machine': `Measured with Node ${node} on ${cores} cores of an ${cpu} with ${Math.round(memoryBytes / 2 ** 30)} GiB of memory.`,
    'figures-rest': columnsOf(figures, /^\d+ zones, \d+ sinks$/),
    'figures-fleet': columnsOf(figures, /^\d+ zones, (?:Redis|SQLite)/),
  }
}

/** A figure is named by its column and its row: `500 zones, SQLite: CPU a request`. */
function columnsOf(figures: readonly Figure[], isColumn: RegExp): string {
  const found = figures.flatMap((figure) => {
    const [column = '', row = ''] = figure.name.split(': ')
    return isColumn.test(column) ? [{ column, row, text: textOf(figure) }] : []
  })
  const columns = [...new Set(found.map(({ column }) => column))]
  const rows = [...Map.groupBy(found, ({ row }) => row)].map(([row, cells]) => [
    row,
    ...columns.map((column) => cells.find((cell) => cell.column === column)?.text ?? ''),
  ])
  return markdownTable(['', ...columns], rows)
}

function textOf(figure: Figure): string {
  const detail = figure.detail === undefined || figure.detail.length > 60 ? '' : ` (${figure.detail})`
  return withUnit(figure) + detail
}
