import type { Command } from 'commander'
import { readStatus } from './read-status.ts'
import { printable, cut, sumOf } from '../../domain/text/terminal-text.ts'
import { exitCodes, type Registration } from '../command.ts'
import { commandLine, example } from '../../terminal/program-name.ts'
import { untilQuit, UsageError, type Io } from '../../terminal/io.ts'
import { collectNames, chooseSinks, chooseZones } from '../options.ts'
import { jsonResult, paintFor, sparkline, type Paint, type Column } from '../../terminal/text.ts'
import { statusLines, type StatusView } from './text.ts'
import { isGrave } from '../../status/problems.ts'
import type { Config } from '../../config/schema.ts'
import type { Choose, Status, RouteStatus } from '../../status/fleet.ts'
import { systemClock } from '../../clock.ts'
import { messageOf, isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import { createLagHistory, type LagHistory } from '../../status/lag-history.ts'
import { canRedraw, createLiveBlock } from '../../terminal/live.ts'

interface StatusOptions {
  readonly zone?: string[]
  readonly sink?: string[]
  readonly json?: boolean
  readonly verbose?: boolean
  readonly watch?: boolean
}

const exitCodeText = `
Shows as many routes as the terminal has lines, or 40 into a pipe, those that need attention first;
--verbose shows all. Exit code 1 when a route fails, nothing ships, or lost days are not acknowledged
(gaps acknowledge), else 0. No access key is needed.
`

export function register({ command, io, exit, load }: Registration): void {
  command
    .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--verbose', 'show also days, gaps, processes and ended backfills')
    .option('--watch', 'redraw every second, with rates and the lag of the last ten minutes; q ends it')
    .option('--json', 'as JSON')
    .addHelpText('after', exitCodeText)
    .addHelpText('after', example('status --zone shop --verbose'))
    .action(async (options: StatusOptions, command: Command) => {
      const { json = false, verbose = false, watch = false } = options
      if (watch && json)
        throw new UsageError('--watch does not work with --json; call status --json at intervals')
      if (watch && !canRedraw(io.stdout))
        throw new UsageError(
          '--watch needs a terminal that can redraw, and stdout is none; for a monitor use status --json',
        )
      const { config } = load(command, 'routes')
      const chosenSinks = chooseSinks(config, options.sink)
      const view = {
        verbose,
        hasFilter: chosenSinks.some(({ where, sample }) => where !== undefined || sample !== undefined),
      }
      const read = () => readStatus(config, (whole) => chosenIn(whole, options), io.signal)
      if (watch) {
        const readAgain = async () => (await read()).status
        await untilQuit(io, (signal) => watchStatus(readAgain, view, { ...io, signal }))
        return
      }
      const { status, state, hasStore } = await read()
      const none = `There is no state at ${printable(state)} yet, so nothing was shipped. To create it: ${commandLine('run')}`
      if (!hasStore) io.stderr.write(`${none}\n`)
      io.stdout.write(
        json ? jsonResult(status) : `${statusLines(status, paintFor(io.stdout), view).join('\n')}\n`,
      )
      exit(exitCodeOf(status))
    })
}

/** For monitors. */
function exitCodeOf({ problems }: Status): number {
  return problems.some(isGrave) ? exitCodes.failed : exitCodes.done
}

/** Whether a route is of the chosen zones and sinks. Throws UsageError. */
function chosenIn(config: Config, { zone, sink }: StatusOptions): Choose {
  const zones = new Set(chooseZones(config, zone).map(({ id }) => id))
  const sinks = new Set(chooseSinks(config, sink).map(({ name }) => name))
  return (route) =>
    (zone === undefined || zones.has(route.zone)) && (sink === undefined || sinks.has(route.sink))
}

const redrawMs = 1_000
const slotMs = 30_000

/** Redraws the status each second until the signal aborts. A store that does not answer is shown, and read again. */
export async function watchStatus(
  read: () => Promise<Status>,
  view: StatusView,
  { stdout, signal }: Pick<Io, 'stdout' | 'signal'>,
  clock: Clock = systemClock,
): Promise<void> {
  const block = createLiveBlock(stdout)
  const history = createLagHistory(slotMs)
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

/** Of half a minute each: ten minutes. */
const bars = 20
/** Bars are as high as the longest lag, but of a healthy route low. */
const leastHighestSeconds = 120

export function liveColumns(history: LagHistory, atMs: number): Column<RouteStatus>[] {
  const of = ({ zone, sink }: RouteStatus) => history.of(zone, sink, atMs)
  function rateText(route: RouteStatus): string {
    const rate = of(route).eventsPerSecond.at(-1) ?? undefined
    if (rate === undefined) return '…'
    return rate > 0 && rate < 10 ? rate.toFixed(1) : String(Math.round(rate))
  }
  function lagBars(route: RouteStatus): string {
    const lags = of(route)
      .lagSeconds.slice(-bars)
      .map((lag) => lag ?? undefined)
    return sparkline(lags, Math.max(leastHighestSeconds, ...lags.map((seconds = 0) => seconds)))
  }
  return [
    ['events/s', rateText, { align: 'right', spare: 7 }],
    ['lag, last 10 min', lagBars, { spare: 6 }],
  ]
}
