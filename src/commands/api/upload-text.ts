import type { Zone } from '../../domain/stream.ts'
import { printable } from '../../domain/text/printable.ts'
import { barOf } from '../terminal/bar.ts'
import { columnLines, widthOf, type Column } from '../terminal/columns.ts'
import { countText } from '../terminal/number.ts'
import type { Paint } from '../terminal/terminal.ts'
import { zoneText } from '../terminal/zone-text.ts'
import { uploadDays, type UploadScanningMetrics } from '../../shield/upload-scanning.ts'

const widestBar = 40
const narrowestBar = 4
const widestDay = 24

export interface ZoneFigures {
  readonly zone: Pick<Zone, 'id' | 'name'>
  readonly figures: UploadScanningMetrics
}

/** For a terminal: a line a day with a bar of the scanned files, then the sums. */
export function uploadLines({ zone, figures }: ZoneFigures, paint: Paint): string[] {
  const days = uploadDays(figures)
  const sums = sumsOf(figures)
  const table = columnsOf(
    days.map(({ day, ...counts }) => [printable(day), ...countsOf(counts).map(countedText)]),
    ['total', ...sums.map(countedText)],
  )
  const room = Math.min(widestBar, paint.width - 1 - widthOf(table) - 2)
  const most = Math.max(1, ...days.map(({ filesScanned = 0 }) => filesScanned))
  const bars = days.map(({ filesScanned = 0 }) =>
    room < narrowestBar ? '' : barOf((Math.max(0, filesScanned) / most) * room),
  )
  const { header, rows } = columnLines(table)
  return [
    `zone ${zoneText(zone.id, zone.name)}`,
    paint.dim(header.trimEnd()),
    ...rows.map((row, index) => `${row}  ${bars[index] ?? ''}`.trimEnd()),
    ...(days.length === 0 ? ['The API gave no figures by day.'] : []),
  ]
}

/** For a pipe: a line a zone and day, and one with the sums of each zone; whole texts and plain numbers. */
export function uploadRecords(zones: readonly ZoneFigures[]): string[] {
  const records = zones.flatMap(({ zone, figures }) => [
    ...uploadDays(figures).map(({ day, ...counts }) => [
      String(zone.id),
      printable(day),
      ...countsOf(counts).map(plainText),
    ]),
    [String(zone.id), 'total', ...sumsOf(figures).map(plainText)],
  ])
  const titles = ['zone', 'day', 'scanned', 'logged', 'blocked']
  const columns = titles.map((title, index) => ({
    title,
    cells: records.map((record) => record[index] ?? '-'),
  }))
  const { header, rows } = columnLines(columns)
  return [header, ...rows].map((line) => line.trimEnd())
}

type Count = number | undefined

function countsOf(day: {
  readonly filesScanned: Count
  readonly loggedRequests: Count
  readonly blockedRequests: Count
}): Count[] {
  return [day.filesScanned, day.loggedRequests, day.blockedRequests]
}

function sumsOf({
  totalFilesScanned,
  totalLoggedRequests,
  totalBlockedRequests,
}: UploadScanningMetrics): Count[] {
  return [totalFilesScanned, totalLoggedRequests, totalBlockedRequests].map((sum) => sum ?? undefined)
}

function columnsOf(days: readonly (readonly string[])[], sums: readonly string[]): Column[] {
  const cells = (index: number) => [...days, sums].map((row) => row[index] ?? '-')
  return [
    { title: 'day', cells: cells(0), most: widestDay },
    { title: 'files scanned', cells: cells(1), align: 'right' },
    { title: 'logged', cells: cells(2), align: 'right' },
    { title: 'blocked', cells: cells(3), align: 'right' },
  ]
}

function countedText(count: Count): string {
  return count === undefined ? '-' : countText(count)
}

function plainText(count: Count): string {
  return count === undefined ? '-' : String(count)
}
