import { figuresFile, readReport, withUnit, type Figure } from '../bench/figures.ts'
import { markdownTable } from './tables.ts'

/** Rows of the page about operation: as the bench names them, and in words for users. */
const ofOneProcess: readonly (readonly [name: string, words: string])[] = [
  ['file: events a second', 'Events a second into files'],
  ['http: events a second', 'Events a second to an HTTP destination'],
  ['s3: events a second', 'Events a second into a bucket'],
  ['RSS of an idle run, one zone', 'Memory of a process with one zone and no new events'],
  ['peak RSS, 100,000 events of a stream', 'Most memory while 100,000 events of one day are shipped'],
  ['peak RSS, 1,000,000 events of a stream', 'Most memory while 1,000,000 events of one day are shipped'],
  ['peak RSS, 500 zones of 3 days', 'Most memory at the first start with 500 zones of 3 days'],
  ['peak RSS, pages of 8 MB on 24 streams', 'Most memory with pages of 8 MB, 24 days read at once'],
  ['SQLite after the day was shipped', 'State in SQLite'],
]

/** What `npm run bench -- --keep` has measured; of fleets a column for each. */
export function figureBlocks(): Record<string, string> {
  const { machine, figures } = readReport(figuresFile)
  const { node, cores, cpu, memoryBytes } = machine
  return {
    figures: markdownTable(
      ['What', 'Measured'],
      ofOneProcess.flatMap(([name, words]) => {
        const found = figures.find((figure) => figure.name === name)
        return found === undefined ? [] : [[words, textOf(found)]]
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
