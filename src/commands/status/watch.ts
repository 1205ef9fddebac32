import { systemClock } from '../../clock.ts'
import { messageOf, isFailure } from '../../domain/failure.ts'
import type { Status } from '../../domain/status/status.ts'
import { printable } from '../../domain/text/printable.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io } from '../io.ts'
import { createLiveBlock } from '../terminal/live-block.ts'
import { cut } from '../../domain/text/text-width.ts'
import { paintFor, type Paint } from '../terminal/terminal.ts'
import { createHistory } from './history.ts'
import { statusLines, type StatusView } from './text.ts'

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
