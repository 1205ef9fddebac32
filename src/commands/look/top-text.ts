import { printable } from '../../domain/text/printable.ts'
import { barOf } from '../terminal/bar.ts'
import { countText } from '../terminal/number.ts'
import { cut, pad, widestOf } from '../../domain/text/text-width.ts'
import type { Paint } from '../terminal/terminal.ts'
import type { CountedBy, CountedRow } from '../../maintenance/read/count-events.ts'

const widestBar = 26
const narrowestBar = 4
const secondTitles: Partial<Record<CountedBy, string>> = { rule: 'what it matches', address: 'from' }

/** A row for each key with its count, and on a terminal a bar; to a pipe the whole texts and plain numbers. */
export function topLines(
  rows: readonly CountedRow[],
  by: CountedBy,
  paint: Paint,
  isPiped: boolean,
): string[] {
  const second = secondTitles[by]
  const counts = ['events', ...rows.map(({ count }) => (isPiped ? String(count) : countText(count)))]
  const keys = [by, ...rows.map(({ key }) => printable(key))]
  const whats = [second ?? '', ...rows.map(({ what = '' }) => printable(what))]
  const countWidth = widestOf(counts)
  const room = isPiped ? Infinity : paint.width - 1 - countWidth - 2 - narrowestBar - 2
  const keyWidth = Math.min(widestOf(keys), second === undefined ? room : Math.floor(room * 0.55))
  const whatWidth = second === undefined ? 0 : Math.max(0, Math.min(widestOf(whats), room - keyWidth - 2))
  const used = keyWidth + (whatWidth > 0 ? whatWidth + 2 : 0) + 2 + countWidth + 2
  const barWidth = isPiped ? 0 : Math.max(narrowestBar, Math.min(widestBar, paint.width - 1 - used))
  const most = rows[0]?.count ?? 1
  const column = (text: string, width: number) => pad(cut(text, width), width)
  return counts.map((count, index) => {
    const what = whatWidth > 0 ? `  ${column(whats[index] ?? '', whatWidth)}` : ''
    const bar = index === 0 ? '' : barOf((rows[index - 1]!.count / most) * barWidth)
    const line =
      `${column(keys[index] ?? '', keyWidth)}${what}  ${count.padStart(countWidth)}  ${bar}`.trimEnd()
    return index === 0 ? paint.dim(line) : line
  })
}
