import { systemClock } from '../../clock.ts'
import { messageOf, isFailure } from '../../domain/failure.ts'
import { printable, cut } from '../../domain/text/terminal-text.ts'
import type { Clock } from '../../ports/process.ts'
import { LagHistory } from '../../status/lag-history.ts'
import type { RouteStatus } from '../../status/observe.ts'
import type { Status } from '../../status/status.ts'
import type { Io } from '../command.ts'
import { createLiveBlock } from '../terminal/live.ts'
import { sparkline, type Column } from '../terminal/table.ts'
import { sumOf } from '../../domain/text/counts.ts'
import { paintFor, type Paint } from '../terminal/text.ts'
import { statusLines, type StatusView } from './text.ts'

const redrawMs = 1_000
/** The history has sixty of them: ten minutes. */
const slotMs = 10_000

/** Redraws the status each second until the signal aborts. A store that does not answer is shown, and read again. */
export async function watchStatus(
  read: () => Promise<Status>,
  view: StatusView,
  { stdout, signal }: Pick<Io, 'stdout' | 'signal'>,
  clock: Clock = systemClock,
): Promise<void> {
  const block = createLiveBlock(stdout)
  const history = new LagHistory(slotMs)
  let shown: string[] = []
  while (!signal.aborted) {
    const paint = paintFor(stdout)
    try {
      const status = await read()
      const atMs = Date.parse(status.at)
      const samples = status.routes.map((route) => ({ ...route, delivered: sumOf(route.days, 'delivered') }))
      history.add(atMs, samples)
      shown = statusLines(status, paint, { ...view, live: liveColumns(history, atMs) })
    } catch (error) {
      if (!isFailure(error)) throw error
      shown = [paint.bad(printable(messageOf(error))), '', ...shown.filter((line) => line !== shown[0])]
    }
    if (signal.aborted) break
    block.draw(fitting(shown, paint))
    await clock.sleep(redrawMs, signal).catch(() => undefined)
  }
  // The terminal has shown ^C: what is typed next begins a line.
  stdout.write('\n')
}

/** A block that is higher than the terminal could not be redrawn: its end is left out, and said so. */
export function fitting(lines: readonly string[], { width, rows }: Pick<Paint, 'width' | 'rows'>): string[] {
  // A painted line is longer than it looks; only a plain one may be cut.
  const narrow = lines.map((line) => (line.includes('\u001B') ? line : cut(line, width)))
  // The line below the block holds the cursor.
  const most = Math.max(3, rows - 1)
  if (lines.length <= most) return narrow
  const end = `… and ${lines.length - most + 1} more lines: choose with --zone or --sink`
  return [...narrow.slice(0, most - 1), cut(end, width)]
}

const bars = 20
/** Bars are as high as the longest lag, but of a healthy route low. */
const leastHighestSeconds = 120

export function liveColumns(history: LagHistory, atMs: number): Column<RouteStatus>[] {
  const of = ({ zone, sink }: RouteStatus) => history.of(zone, sink, atMs)
  return [
    [
      'events/s',
      (route) => rateText(of(route).eventsPerSecond.at(-1) ?? undefined),
      { align: 'right', spare: 7 },
    ],
    ['lag, last 10 min', (route) => lagBars(of(route).lagSeconds), { spare: 6 }],
  ]
}

function rateText(rate: number | undefined): string {
  if (rate === undefined) return '…'
  return rate > 0 && rate < 10 ? rate.toFixed(1) : String(Math.round(rate))
}

/** The longest lag of each part of the ten minutes, the newest to the right. */
function lagBars(lags: readonly (number | null)[]): string {
  const slots = lags.length / bars
  const highest = Array.from({ length: bars }, (_, index) => {
    const part = lags.slice(index * slots, (index + 1) * slots).filter((lag) => lag !== null)
    return part.length === 0 ? undefined : Math.max(...part)
  })
  return sparkline(highest, Math.max(leastHighestSeconds, ...highest.map((seconds = 0) => seconds)))
}
