import type { Command } from 'commander'
import { addBackfill, lookAt, planIn, runInPlace, shippingProcess } from './backfill.ts'
import { hasParts } from '../../assemble/sink-files.ts'
import { openWork, withKnownZones, type Work } from '../../assemble/work.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema.ts'
import { dayOf, daysBetween } from '../../domain/day.ts'
import { isFailure } from '../../domain/failure.ts'
import { collectNames, dayArgument, dayForms, chooseSinks, chooseZones, unknownName } from '../options.ts'
import { archiveRequestOf, runFromArchive } from './from-archive.ts'
import { backfillLines, failingLines } from '../backfills.ts'
import { createBackfillView, leftOutLines, mostRows, planLines, type BackfillView } from './text.ts'
import { exitCodes, type Registration } from '../command.ts'
import { commandLine, programName, example } from '../../terminal/program-name.ts'
import { resultOutput, untilQuit, UsageError, type Io } from '../../terminal/io.ts'
import { isConfirmed } from '../../terminal/ask.ts'
import { counted, printable } from '../../domain/text/terminal-text.ts'
import { paintFor, jsonResult } from '../../terminal/text.ts'
import type { BackfillRequest, BackfillPlan, BackfillOptions } from './plan.ts'
import { backfillStatuses, type BackfillStatus } from '../../status/fleet.ts'

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

export function register(registration: Registration): void {
  const { command: backfill, io, exit, load } = registration
  backfill
    .option('--from <day>', `first day: ${dayForms}`, dayArgument)
    .option('--to <day>', 'last day (default: today)', dayArgument)
    .option('--zone <zone>', 'only this zone; repeatable, takes comma lists', collectNames)
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--dry-run', 'print what would be read, and stop')
    .option('--watch', 'show progress until it is done; q leaves it to the other process')
    .option('--resend', 'ship these days once more, to every sink but files and objects')
    .option('--yes', 'with --resend: do not ask')
    .option('--source <sink>', 'read the files or objects of this sink instead of the API; needs --sink')
    .addHelpText('after', help)
    .action(async (options: BackfillOptions, command: Command) => {
      const { source, dryRun = false, resend = false } = options
      const config =
        source === undefined && !dryRun
          ? await loadToBackfill(load, command, io.signal)
          : await withKnownZones(load(command, dryRun ? 'comparison' : 'delivery').config, io.signal)
      if (resend) checkResend(config, options)
      const request = requestOf(config, options)
      if (source !== undefined) {
        const archive = archiveRequestOf(config, source, request, options)
        return exit(exitCodeOf({ leftOut: await runFromArchive(config, archive, io) }))
      }
      await using shown = await openView(config, io)
      exit(await start(request, shown, options))
    })
  registerBackfillChanges(backfill, registration)
}

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

async function start(request: BackfillRequest, shown: Shown, options: BackfillOptions): Promise<number> {
  const { watch = false, dryRun = false, resend = false } = options
  const { work, view, io } = shown
  const plan = await planIn(work, request, io.signal)
  for (const line of planLines(plan, paintFor(io.stderr))) view.say(line)
  const left = plan.streams.filter(({ state }) => state === 'left_out').length
  if (left === plan.streams.length) {
    view.say('nothing of it can be read')
    return exitCodes.failed
  }
  if (dryRun) return exitCodeOf({ leftOut: left })
  if (resend && !(await isResendAgreed(plan, options, io))) {
    view.say('nothing was shipped')
    return exitCodes.failed
  }
  const { id } = await addBackfill(work, plan, io.signal)
  return serveBackfill(shown, id, watch, id)
}

const changes = [
  { name: 'pause', state: 'paused', description: 'pause a backfill until it is resumed' },
  { name: 'resume', state: 'running', description: 'continue a backfill that was paused or stopped' },
  { name: 'cancel', state: 'cancelled', description: 'end a backfill; the events that it shipped stay' },
] as const

function registerBackfillChanges(backfill: Command, { io, exit, load, open }: Registration): void {
  backfill
    .command('list')
    .description('backfills of the last 90 days, the oldest first')
    .option('--json', 'as JSON, with progress by day')
    .addHelpText('after', example('backfill list'))
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      await using work = await open(command, 'state', { store: 'existing' })
      const backfills = await backfillStatuses(await work.store.backfills.list(), work.store)
      const lines = backfills.length === 0 ? ['no backfills'] : backfillLines(backfills, paintFor(io.stdout))
      io.stdout.write(json === true ? jsonResult({ backfills }) : `${lines.join('\n')}\n`)
    })
  for (const { name, state, description } of changes) {
    const isResumed = state === 'running'
    const change = backfill
      .command(name)
      .description(description)
      .argument('<id>', 'as `backfill list` shows it')
      .addHelpText('after', example(`backfill ${name} 5f0c1d2e3a${isResumed ? ' --watch' : ''}`))
      .action(async (id: string, _: unknown, command: Command) => {
        // `backfill` itself has the option too, and parses it wherever it is.
        const { watch = false } = command.optsWithGlobals<{ watch?: boolean }>()
        const config = isResumed
          ? await loadToBackfill(load, command, io.signal)
          : load(command, 'state').config
        await using shown = await openView(config, io)
        const { backfills } = shown.work.store
        const all = await backfills.list()
        const before = all.find((each) => each.id === id)
        const names = all.map((each) => each.id)
        if (before === undefined)
          throw unknownName({ option: 'backfill', name: id, what: 'is not known', names })
        const said = `${id} ${state}`
        if (!(await backfills.setState(id, state))) {
          shown.view.say(`backfill ${id} is already ${before.state}`)
          exit(exitCodes.failed)
        } else if (isResumed) exit(await serveBackfill(shown, id, watch, said))
        else io.stdout.write(`${said}\n`)
      })
    if (isResumed)
      change.option('--watch', 'show progress until it is done; q leaves it to the other process')
  }
}

/** Refuses, before anything is read, what cannot be shipped once more. Throws UsageError. */
function checkResend(config: Config, { sink: names = [], source }: BackfillOptions): void {
  if (source !== undefined)
    throw new UsageError('--resend reads the API and --source reads files; use one of them')
  // What was shipped to it exactly once would be there twice.
  const keeper = chooseSinks(config, names).find(hasParts)
  if (keeper !== undefined) {
    const place = keeper.type === 'file' ? 'path' : 'prefix'
    throw new UsageError(
      `--resend does not work for ${keeper.type} sinks, and ${printable(keeper.name)} is one: choose others with --sink, or give it a new name and ${place} in the configuration, and run a backfill for it`,
    )
  }
}

function isResendAgreed(
  { streams, delivered }: BackfillPlan,
  options: BackfillOptions,
  io: Io,
): Promise<boolean> {
  const queued = streams.filter(({ state }) => state === 'queued').map(({ stream }) => stream)
  const days = new Set(queued.map(({ day }) => day)).size
  const sinks = [...new Set(queued.map(({ sink }) => sink))].map((name) => printable(name))
  const events = delivered === undefined ? 'all events' : `about ${counted(delivered, 'event')}`
  const what = `${events} of ${counted(days, 'day')} again to ${sinks.join(', ')}`
  const question = `this ships ${what}; a destination that does not deduplicate will have them twice. Continue?`
  return isConfirmed({ would: `ship ${what}`, question }, options, io)
}

/** Where a process ships on the state, the backfill is left to it; else this command delivers, with the secrets of sinks. */
async function loadToBackfill(
  load: Registration['load'],
  command: Command,
  signal: AbortSignal,
): Promise<Config> {
  const { config } = load(command, 'comparison')
  await using work = await openWork(config, { store: 'existing' }, signal)
  const isLeft = (await shippingProcess(work)) !== undefined
  return withKnownZones(isLeft ? config : load(command, 'delivery').config, signal)
}

interface Shown {
  readonly work: Work
  readonly view: BackfillView
  readonly io: Io
}

/**
 * Logs less than a run: the progress display shows what happens. Both are text for people, unless the configuration asks
 * for JSON: then both are JSON lines.
 */
async function openView({ log, ...others }: Config, io: Io): Promise<Shown & AsyncDisposable> {
  const config: Config = { ...others, log: { ...log, format: log.format === 'json' ? 'json' : 'pretty' } }
  const view = createBackfillView(config, io, systemClock)
  const work = await openWork(config, { store: 'existing' }, io.signal)
  return { work, view, io, [Symbol.asyncDispose]: () => work[Symbol.asyncDispose]() }
}

/**
 * Leaves a backfill to the process that ships on the store, or reads it in this process where there is none. Returns
 * the exit code: 1 where a part was left out, given up, or not read to its end. `said` is printed to stdout once the
 * backfill is under way.
 */
async function serveBackfill(shown: Shown, id: string, watch: boolean, said: string): Promise<number> {
  const { work, view, io } = shown
  const holder = await shippingProcess(work)
  const output = resultOutput(io, holder === undefined ? work.config.sinks : [])
  // The id is alone on its line, for scripts.
  output.write(`${output.isTTY === true ? 'backfill ' : ''}${said}\n`)
  if (holder === undefined && (await isServedHere(shown, id)))
    return conclude(shown, id, await lookAt(work, id, mostRows))
  view.say(`${printable((await shippingProcess(work)) ?? holder ?? 'another process')} works on it`)
  // Beside a run that goes on, only what is left out is told.
  if (!watch) return exitCodeOf({ ...(await lookAt(work, id, mostRows)), queued: 0 })
  return untilQuit(io, async (signal) => {
    const last = await follow(shown, id, true, signal)
    return signal.aborted ? exitCodes.done : conclude(shown, id, last)
  })
}

/** False where another process ships on the store meanwhile. */
async function isServedHere(shown: Shown, id: string): Promise<boolean> {
  const { work, view, io } = shown
  const ended = new AbortController()
  view.say(
    'no run is active on this state, so this command reads the days itself; after a stop the next run continues',
  )
  const following = follow(shown, id, false, AbortSignal.any([io.signal, ended.signal]))
  // It ends with the work, and its error is handled there.
  following.catch(() => undefined)
  try {
    const { createLoggedRuntime } = await import('../../assemble/logged-runtime.ts')
    const { config } = work
    const { level } = config.log
    const logLevel = level === 'info' ? 'warn' : level
    const runtime = createLoggedRuntime(config, {
      logLevel,
      ...(view.log !== undefined && { log: view.log }),
    })
    await using here = await openWork(config, { store: 'created', runtime }, io.signal)
    return (await runInPlace(here, id, io.signal)) !== undefined
  } finally {
    ended.abort()
    await following
    if (io.signal.aborted)
      view.say(`stopped; the next run continues it, or: ${commandLine(`backfill resume ${id}`)}`)
  }
}

function conclude({ view, io }: Shown, id: string, look: BackfillStatus | undefined): number {
  if (look === undefined) view.say(`backfill ${id} is no longer in the state`)
  else {
    const { width, bad } = paintFor(io.stderr)
    const summary = view.end(look)
    const wrong = [...leftOutLines(look.reasons, width), ...failingLines(look.errors)]
    for (const line of wrong) view.say(bad(line), 'error')
    view.say(summary)
    if (look.queued > 0 && look.state !== 'cancelled')
      view.say(`to continue: ${commandLine(`backfill resume ${id}`)}`)
  }
  return exitCodeOf(look)
}

/** Of a plan, of a backfill, and of days from files: 1 where a part is left out or not read, or is no longer in the store. */
function exitCodeOf({
  leftOut,
  queued = 0,
}: Partial<Pick<BackfillStatus, 'leftOut' | 'queued'>> = {}): number {
  return leftOut === 0 && queued === 0 ? exitCodes.done : exitCodes.failed
}

/** A run that is being restarted is back within this time. */
const workerPatienceMs = 60_000
/** Reading the state may take at most a tenth of the time. */
const lookShare = 10
const mostFailures = 10

/**
 * Shows the progress of a backfill until it no longer runs, the signal aborts, or, where it needs one, no process has
 * shipped on the store for a minute. Resolves with its last state; undefined when it no longer exists. Throws the
 * Failures of a store that stays unreachable.
 */
async function follow(
  { work, view }: Shown,
  id: string,
  needsWorker: boolean,
  signal: AbortSignal,
): Promise<BackfillStatus | undefined> {
  let failures = 0
  let servedAtMs = systemClock.monotonic()
  for (;;) {
    const beganMs = systemClock.monotonic()
    try {
      const look = await lookAt(work, id, mostRows)
      if (look !== undefined) view.show(look)
      if (look === undefined || look.state !== 'running' || signal.aborted) return look
      if (!needsWorker || (await shippingProcess(work)) !== undefined) servedAtMs = beganMs
      if (beganMs - servedAtMs >= workerPatienceMs) return look
      failures = 0
    } catch (error) {
      if (!isFailure(error, 'store_unavailable') || ++failures > mostFailures) throw error
    }
    const tookMs = systemClock.monotonic() - beganMs
    await systemClock.sleep(Math.max(view.pauseMs, tookMs * lookShare), signal).catch(() => undefined)
  }
}
