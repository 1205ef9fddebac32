import type { Command } from 'commander'
import { readStatus } from '../../assemble/status.ts'
import type { SinkConfig, Config } from '../../config/schema.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { commandLine, example } from '../program-name.ts'
import { collectNames, chooseSinks, chooseZones } from '../options.ts'
import { UsageError, type Registration } from '../command.ts'
import { jsonResult, paintFor, wrapped } from '../terminal/text.ts'
import { statusExitCode } from './route-table.ts'
import { statusLines } from './text.ts'
import { watchStatus } from './watch.ts'
import { problemsOf } from '../../domain/status/problems.ts'
import type { Status } from '../../domain/status/status.ts'

interface StatusOptions extends StatusChoice {
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
      if (watch) checkWatch(json, io.stdout.isTTY === true)
      const { config: configured } = load(command, 'routes')
      const hasFilter = chooseSinks(configured, options.sink).some(leavesOut)
      const read = async () => {
        const { status, config, ...rest } = await readStatus(configured, io.signal)
        return { chosen: statusChooser(config, options)(status), ...rest }
      }
      if (watch) return watchStatus(async () => (await read()).chosen, { verbose, hasFilter }, io)
      const { chosen, state, hasStore, undecided } = await read()
      if (!hasStore)
        io.stderr.write(
          `There is no store at ${printable(state)} yet, so nothing was shipped. To create it: ${commandLine('run')}\n`,
        )
      for (const sink of undecided) {
        const why = `the address of sink ${printable(sink)} is not known in this shell, so status cannot say whether the sink is held as a renamed one`
        const remedy = 'look for SinkHeld in the log of run, or set the variables of the address'
        io.stderr.write(wrapped(`note: ${why}; ${remedy}\n`, io.stderr))
      }
      const paint = paintFor(io.stdout)
      const rows = io.stdout.isTTY === true ? (io.stdout.rows ?? usualRows) : undefined
      io.stdout.write(
        json
          ? jsonResult(chosen)
          : `${statusLines(chosen, paint, { verbose, rows, hasFilter }).join('\n')}\n`,
      )
      exit(statusExitCode(chosen))
      return undefined
    })
}

/** Of a terminal that does not say. */
const usualRows = 24

function leavesOut(sink: SinkConfig): boolean {
  return sink.where !== undefined || sink.sample !== undefined
}

/** Throws UsageError. */
function checkWatch(json: boolean, isTerminal: boolean): void {
  if (json) throw new UsageError('--watch does not work with --json; call status --json at intervals')
  if (!isTerminal)
    throw new UsageError('--watch needs a terminal, and stdout is not one; for a monitor use status --json')
}

interface StatusChoice {
  readonly zone?: string[]
  readonly sink?: string[]
}

/** Checks the names, and returns what leaves only the chosen zones and sinks. Throws UsageError. */
function statusChooser(config: Config, { zone, sink }: StatusChoice): (status: Status) => Status {
  const zones = new Set(chooseZones(config, zone).map(({ id }) => id))
  const sinks = new Set(chooseSinks(config, sink).map(({ name }) => name))
  const hasZone = (id: number) => zone === undefined || zones.has(id)
  const hasSink = (name: string) => sink === undefined || sinks.has(name)
  const chosen = (status: Status) => ({
    ...status,
    routes: status.routes.filter((route) => hasZone(route.zone) && hasSink(route.sink)),
    deadLetters: status.deadLetters.filter((each) => hasSink(each.sink)),
    unconfigured: status.unconfigured.filter((each) => hasZone(each.zone) && hasSink(each.sink)),
  })
  return (status) => {
    const shown = chosen(status)
    return { ...shown, problems: problemsOf(shown) }
  }
}
