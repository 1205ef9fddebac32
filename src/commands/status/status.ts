import type { Command } from 'commander'
import { readStatus } from '../../assemble/status.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { commandLine, example } from '../program-name.ts'
import { collectNames, chooseSinks, chooseZones } from '../options.ts'
import { exitCodes, UsageError, type Io, type Registration } from '../command.ts'
import { jsonResult, paintFor } from '../terminal/text.ts'
import { statusLines } from './text.ts'
import { watchStatus } from './watch.ts'
import { isGrave } from '../../domain/status/problems.ts'
import type { Config } from '../../config/schema.ts'
import type { Choose, Status } from '../../status/status.ts'

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
    .option('--watch', 'redraw every second, with rates and the lag of the last ten minutes')
    .option('--json', 'as JSON')
    .addHelpText('after', exitCodeText)
    .addHelpText('after', example('status --zone shop --verbose'))
    .action(async (options: StatusOptions, command: Command) => {
      const { json = false, verbose = false, watch = false } = options
      if (watch && json)
        throw new UsageError('--watch does not work with --json; call status --json at intervals')
      if (watch && io.stdout.isTTY !== true)
        throw new UsageError(
          '--watch needs a terminal, and stdout is not one; for a monitor use status --json',
        )
      const { config } = load(command, 'routes')
      const chosenSinks = chooseSinks(config, options.sink)
      const view = {
        verbose,
        hasFilter: chosenSinks.some(({ where, sample }) => where !== undefined || sample !== undefined),
      }
      const read = () => readStatus(config, (whole) => chosenIn(whole, options), io.signal)
      if (watch) {
        await watchStatus(async () => (await read()).status, view, io)
        return
      }
      const { status, ...found } = await read()
      tellUnknown(found, io)
      io.stdout.write(
        json ? jsonResult(status) : `${statusLines(status, paintFor(io.stdout), view).join('\n')}\n`,
      )
      exit(statusExitCode(status))
    })
}

type Found = Awaited<ReturnType<typeof readStatus>>

function tellUnknown({ state, hasStore }: Omit<Found, 'status'>, { stderr }: Io): void {
  if (!hasStore)
    stderr.write(
      `There is no store at ${printable(state)} yet, so nothing was shipped. To create it: ${commandLine('run')}\n`,
    )
}

/** Whether a route is of the chosen zones and sinks. Throws UsageError. */
function chosenIn(config: Config, { zone, sink }: StatusOptions): Choose {
  const zones = new Set(chooseZones(config, zone).map(({ id }) => id))
  const sinks = new Set(chooseSinks(config, sink).map(({ name }) => name))
  return (route) =>
    (zone === undefined || zones.has(route.zone)) && (sink === undefined || sinks.has(route.sink))
}

/** 1 for lost days that nobody has acknowledged, a route that fails, and where nothing ships: for monitors. */
export function statusExitCode({ problems }: Pick<Status, 'problems'>): number {
  return problems.some(isGrave) ? exitCodes.failed : exitCodes.done
}
