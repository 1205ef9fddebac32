import { printable } from '../../domain/text/printable.ts'
import type { Day } from '../../domain/day.ts'
import { barOf } from '../terminal/bar.ts'
import { columnLines } from '../terminal/columns.ts'
import { countOf, countText } from '../terminal/number.ts'
import { pad } from '../../domain/text/text-width.ts'
import {
  summed,
  type DayProgress,
  type StreamProgress,
} from '../../maintenance/backfill/backfill-progress.ts'

export type RowProgress = DayProgress & { readonly title: string }

/** More rows would not fit on a small terminal. */
const mostRows = 12
const mostTitle = 30
const barWidth = { wide: 30, narrow: 16, narrowBelow: 100 }

/** A row for each zone's day while they are few, else one for each day; the oldest day first. */
export function rowsOf(
  streams: readonly StreamProgress[],
  nameOf: (zone: number) => string,
): readonly RowProgress[] {
  const byZone = Map.groupBy(streams, ({ stream }) => `${stream.day} ${stream.zone}`)
  const isFew = byZone.size <= mostRows
  const groups = isFew ? byZone : Map.groupBy(streams, ({ stream }) => stream.day as string)
  return [...groups.values()]
    .map((own) => {
      const { day, zone } = own[0]!.stream
      const title = isFew ? `${day}  ${printable(nameOf(zone))}` : day
      return { day, title, ...summed(own) }
    })
    .toSorted(byDay)
}

function byDay({ day: left }: { readonly day: Day }, { day: right }: { readonly day: Day }): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Bars with what was read; `rateOf`: events a second of a row, undefined while unknown. */
export function rowLines(
  rows: readonly RowProgress[],
  rateOf: (row: RowProgress) => number | undefined,
  width: number,
): string[] {
  const isFew = rows.length <= mostRows
  const shown = isFew ? rows : rows.filter(({ queued }) => queued > 0).slice(0, mostRows - 1)
  const more = rows.length - shown.length
  const bars = width < barWidth.narrowBelow ? barWidth.narrow : barWidth.wide
  const rates = shown.map((row) => {
    const rate = row.queued === 0 ? undefined : rateOf(row)
    return rate === undefined || rate === 0 ? '' : `${countText(Math.round(rate))}/s`
  })
  const { rows: lines } = columnLines([
    { title: '', cells: shown.map(({ title }) => title), most: mostTitle },
    { title: '', cells: shown.map((row) => pad(barOf(fractionOf(row) * bars), bars)) },
    { title: '', cells: shown.map(stateText) },
    { title: '', cells: shown.map(eventsText), align: 'right' },
    { title: '', cells: rates, align: 'right' },
  ])
  return [...lines.map((line) => line.trimEnd()), ...(more > 0 ? [`… and ${countOf(more, 'more day')}`] : [])]
}

function stateText(row: RowProgress): string {
  const { queued, done, pages, expectedPages, leftOut } = row
  const left = leftOut > 0 ? `, ${countText(leftOut)} left out` : ''
  if (queued === 0) return done === 0 ? 'left out' : `done${left}`
  if (pages === 0) return 'waiting'
  if (expectedPages === undefined) return `${countOf(pages, 'page')}${left}`
  return `${Math.floor(fractionOf(row) * 100)} %${left}`
}

function eventsText({ events, pages, done }: RowProgress): string {
  return pages === 0 && done === 0 ? '' : countOf(events, 'event')
}

/** How much of the readable streams has been read, from 0 to 1. */
export function fractionOf({
  pages,
  expectedPages,
  queued,
  done,
}: Pick<RowProgress, 'pages' | 'queued' | 'done'> & { readonly expectedPages?: number | undefined }): number {
  if (queued === 0) return done === 0 ? 0 : 1
  return expectedPages === undefined ? done / (done + queued) : Math.min(1, pages / expectedPages)
}
