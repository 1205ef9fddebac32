import type { Command } from 'commander'
import { withKnownZones } from '../../assemble/zones-for-commands.ts'
import type { BackfillTasks } from '../../assemble/backfill.ts'
import type { Loaded } from '../../config/load/load.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import { dayOf, daysBetween, type Day } from '../../domain/day.ts'
import { collectNames, dayArgument } from '../arguments.ts'
import { archiveRequestOf, runFromArchive } from './archive.ts'
import { checkResend, isResendAgreed, type ResendOptions } from './resend.ts'
import { planLines } from './text.ts'
import { serveBackfill } from './serve.ts'
import type { BackfillView } from './view.ts'
import { loadToBackfill, withTasks } from './with-tasks.ts'
import { registerBackfillChanges } from './change.ts'
import { exitCodes, type Io } from '../io.ts'
import { UsageError, type Registration } from '../registration.ts'
import { chooseSinks, chooseZones } from '../selection.ts'
import { paintFor } from '../terminal/terminal.ts'
import { programName } from '../program-name.ts'
import type { BackfillRequest } from '../../maintenance/backfill/backfill-plan.ts'

interface BackfillOptions extends ResendOptions {
  readonly from?: Day
  readonly to?: Day
  readonly zone?: string[]
  readonly watch?: boolean
  readonly resend?: boolean
}

/** The planner reads the streams of all backfills from the store with every plan. */
const mostStreams = 20_000

const help = `
--source ships days from files instead of the API, also days that the API no longer keeps. It runs in
this process, also while a run is active, and cannot be paused. After a stop the same command continues
it and ships nothing twice. Exit code 1 means here that the files lack a day, or that something in
them could not be read.

--resend ships everything that the API lists of these days once more, also what was shipped before:
these days count as not shipped from then on, so that a cancelled resend ships the rest too. It asks first.

Examples:
  ${programName()} backfill --from 2026-11-18 --to yesterday --watch
  ${programName()} backfill --from yesterday --to yesterday --sink siem --resend
  ${programName()} backfill --source archive --sink siem --from 2026-10-01 --to 2026-10-31
`

export function registerBackfill(registration: Registration): void {
  const { command: backfill, io, exit, load } = registration
  backfill
    .option('--from <day>', 'first day: YYYY-MM-DD in UTC, today or yesterday', dayArgument)
    .option('--to <day>', 'last day (default: today)', dayArgument)
    .option('--zone <zone>', 'only this zone; repeatable, takes comma lists', collectNames)
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--dry-run', 'print what would be read, and stop')
    .option('--watch', 'show progress until it is done')
    .option('--resend', 'ship these days once more, to http and stdout sinks')
    .option('--yes', 'with --resend: do not ask')
    .option('--source <sink>', 'read the files of this file sink instead of the API; needs --sink')
    .addHelpText('after', help)
    .action(async (options: BackfillOptions, command: Command) => {
      const { source } = options
      const { config } = await withKnownZones(await loaded(options, load, command), io.signal)
      if (options.resend === true) checkResend(config, options, io)
      const request = requestOf(config, options)
      if (source !== undefined) {
        exit(await runFromArchive(config, archiveRequestOf(config, source, request, options), io))
        return
      }
      exit(await withTasks(config, io, (tasks, view) => start({ config, request, tasks, view, io }, options)))
    })
  registerBackfillChanges(backfill, registration)
}

async function loaded(
  { source, dryRun = false }: BackfillOptions,
  load: Registration['load'],
  command: Command,
): Promise<Loaded> {
  if (source !== undefined) return load(command, 'delivery')
  return dryRun ? load(command, 'comparison') : loadToBackfill(load, command)
}

/** Throws UsageError. */
function requestOf(
  config: Config,
  { from, to = dayOf(systemClock.now()), zone, sink, resend = false }: BackfillOptions,
): BackfillRequest {
  if (from === undefined) throw new UsageError("required option '--from <day>' not specified")
  if (from > to) throw new UsageError(`--from ${from} is after --to ${to}`)
  const zones = chooseZones(config, zone)
  const sinks = chooseSinks(config, sink).map(({ name }) => name)
  const streams = (daysBetween(from, to) + 1) * zones.length * sinks.length
  if (streams > mostStreams) {
    const what = `--from ${from} --to ${to} asks for ${streams} streams (days × zones × sinks)`
    throw new UsageError(`${what}; the most is ${mostStreams}: choose fewer days, zones or sinks`)
  }
  return { from, to, zones, sinks, ...(resend && { resend }) }
}

interface Start {
  readonly config: Config
  readonly request: BackfillRequest
  readonly tasks: BackfillTasks
  readonly view: BackfillView
  readonly io: Io
}

async function start({ config, request, tasks, view, io }: Start, options: BackfillOptions): Promise<number> {
  const { watch = false, dryRun = false, resend = false } = options
  const plan = await tasks.plan(request, io.signal)
  for (const line of planLines(plan, paintFor(io.stderr))) view.say(line)
  if (plan.streams.every(({ state }) => state === 'left_out')) {
    view.say('nothing of it can be read')
    return exitCodes.failed
  }
  if (dryRun)
    return plan.streams.some(({ state }) => state === 'left_out') ? exitCodes.failed : exitCodes.done
  if (resend && !(await isResendAgreed(plan, options, io))) {
    view.say('nothing was shipped')
    return exitCodes.failed
  }
  const { id } = await tasks.add(plan, io.signal)
  return serveBackfill({ id, watch, said: id, config, tasks, view, io })
}
