import { systemClock } from '../../clock.ts'
import { messageOf, isFailure } from '../../domain/failure.ts'
import type { Status, RouteStatus } from '../../domain/status/status.ts'
import { printable, cut } from '../../domain/text/terminal-text.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io } from '../command.ts'
import { createLiveBlock } from '../terminal/live.ts'
import { paintFor, type Paint } from '../terminal/text.ts'
import { statusLines, type StatusView } from './text.ts'
import type { Column } from '../terminal/table.ts'
import { sparkline } from '../terminal/table.ts'

const redrawMs = 1_000
const usualRows = 24

/** Redraws the status each second until the signal aborts. A store that does not answer is shown, and read again. */
export async function watchStatus(
  read: () => Promise<Status>,
  view: StatusView,
  { stdout, signal }: Pick<Io, 'stdout' | 'signal'>,
  clock: Clock = systemClock,
): Promise<void> {
  const block = createLiveBlock(stdout)
  const history = createHistory()
  let shown: string[] = []
  while (!signal.aborted) {
    const paint = paintFor(stdout)
    try {
      const status = await read()
      history.add(status)
      // The line below the block holds the cursor.
      const rows = (stdout.rows ?? usualRows) - 1
      shown = statusLines(status, paint, { ...view, rows, live: (routes) => history.columns(routes) })
    } catch (error) {
      if (!isFailure(error)) throw error
      shown = [paint.bad(printable(messageOf(error))), '', ...shown.filter((line) => line !== shown[0])]
    }
    if (signal.aborted) break
    block.draw(fitting(shown, stdout.rows ?? usualRows, paint))
    await clock.sleep(redrawMs, signal).catch(() => undefined)
  }
  // The terminal has shown ^C: what is typed next begins a line.
  stdout.write('\n')
}

/** A block that is higher than the terminal could not be redrawn: its end is left out, and said so. */
export function fitting(lines: readonly string[], rows: number, { width }: Pick<Paint, 'width'>): string[] {
  // The line below the block holds the cursor.
  const most = Math.max(3, rows - 1)
  if (lines.length <= most) return lines.map((line) => cutPainted(line, width))
  const more = lines.length - most + 1
  const end = `… and ${more} more lines: choose with --zone or --sink`
  return [...lines.slice(0, most - 1), cut(end, width)].map((line) => cutPainted(line, width))
}

/** A painted line is longer than it looks; only a plain one may be cut. */
function cutPainted(line: string, width: number): string {
  return line.includes('\u001B') ? line : cut(line, width)
}

/** What `--watch` remembers of each route between two looks. */
interface StatusHistory {
  add(status: Pick<Status, 'at' | 'routes'>): void
  /** Events a second and the lag of the last ten minutes, by these routes. */
  columns(routes: readonly RouteStatus[]): Column[]
}

interface Sample {
  readonly atMs: number
  readonly lagSeconds: number
  readonly delivered: number
}

const keptMs = 600_000
const rateMs = 10_000
const bars = 20
/** Bars are as high as the longest lag, but of a healthy route low. */
const leastHighestSeconds = 120

export function createHistory(): StatusHistory {
  const samples = new Map<string, Sample[]>()
  return {
    add({ at, routes }) {
      const atMs = Date.parse(at)
      for (const route of routes) {
        let delivered = 0
        for (const day of route.days) delivered += day.delivered
        const own = samples.get(keyOf(route)) ?? []
        const kept = own.filter((sample) => sample.atMs > atMs - keptMs && sample.atMs < atMs)
        samples.set(keyOf(route), [...kept, { atMs, lagSeconds: route.lagSeconds, delivered }])
      }
    },
    columns(routes) {
      const own = routes.map((route) => samples.get(keyOf(route)) ?? [])
      return [
        { title: 'events/s', cells: own.map(rateText), align: 'right' },
        { title: 'lag, last 10 min', cells: own.map(lagBars) },
      ]
    },
  }
}

function keyOf({ zone, sink }: Pick<RouteStatus, 'zone' | 'sink'>): string {
  return `${zone} ${sink}`
}

/** Over the last seconds. A day that left the status takes its events with it: no rate is below 0. */
function rateText(samples: readonly Sample[]): string {
  const last = samples.at(-1)
  const first = samples.find(({ atMs }) => last !== undefined && atMs >= last.atMs - rateMs)
  if (last === undefined || first === undefined || first === last) return '…'
  const rate = Math.max(0, last.delivered - first.delivered) / ((last.atMs - first.atMs) / 1000)
  return rate > 0 && rate < 10 ? rate.toFixed(1) : String(Math.round(rate))
}

/** The longest lag of each part of the ten minutes, the newest to the right. */
function lagBars(samples: readonly Sample[]): string {
  const last = samples.at(-1)
  if (last === undefined) return ''
  const partMs = keptMs / bars
  const highest = Array.from({ length: bars }, (_, index) => {
    const age = bars - 1 - index
    const own = samples.filter(({ atMs }) => Math.floor((last.atMs - atMs) / partMs) === age)
    return own.length === 0 ? undefined : Math.max(...own.map(({ lagSeconds }) => lagSeconds))
  })
  const most = Math.max(leastHighestSeconds, ...highest.map((seconds) => seconds ?? 0))
  return sparkline(highest, most)
}
