import { randomUUID } from 'node:crypto'
import { Option, type Command } from 'commander'
import { createLoggedRuntime } from '../../assemble/logged-runtime.ts'
import type { Role } from '../../ports/process.ts'
import { Daemon } from '../../process/daemon.ts'
import { fleetState } from '../../assemble/state.ts'
import { printable, counted, firstOf, sumOf } from '../../domain/text/terminal-text.ts'
import { systemClock } from '../../clock.ts'
import { ConfigErrors, errorLine, isWithin } from '../../config/errors.ts'
import { loadServerAddress, type Loaded } from '../../config/load.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { createTelemetry } from '../../telemetry/telemetry.ts'
import { startServer } from '../../server/server.ts'
import { version } from '../../assemble/version.ts'
import { Secret } from '../../domain/text/secret.ts'
import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import { within } from '../../domain/promises.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import { exitCodes, type Registration } from '../command.ts'
import { programName } from '../../terminal/program-name.ts'
import { UsageError, type Io } from '../../terminal/io.ts'
import { createProgress } from './progress.ts'
import { createTeller, progressMode, type Teller } from '../../terminal/live.ts'

export function register({ command, io, exit, load }: Registration): void {
  command
    .option('--once', 'read every planned stream to its last page once, then exit')
    .option('--quiet', 'with --once: print warnings and errors only, for cron')
    .addOption(
      new Option('--role <role>', 'part of the work that this process does')
        .choices(['all', 'scheduler', 'worker'])
        .default('all'),
    )
    .addHelpText(
      'after',
      `\nExample:\n  SHIELDLOG_API_ACCESS_KEY=… SHIELDLOG_ZONES=101 ${programName()} run\n`,
    )
    .action(async ({ once = false, quiet = false, role }: Given, command: Command) => {
      if (quiet && !once)
        throw new UsageError(
          '--quiet goes with --once; a process that runs on logs less with log.level: warn',
        )
      const progress = quiet ? 'none' : once ? 'always' : 'terminal'
      const { config } = command.optsWithGlobals<{ config?: string }>()
      exit(await run(() => load(command), { once, role, progress, config }, io))
    })
}

interface Given {
  readonly once?: boolean
  readonly quiet?: boolean
  readonly role: Role
}

export interface RunOptions {
  readonly once: boolean
  /** The share of the work for this process, where processes share it over Redis. */
  readonly role?: Role
  /**
   * Shows pages, events and lag per zone, with a summary at the end; `terminal`: only as a table redrawn in place; `none`:
   * nothing, and only warnings and errors are logged.
   */
  readonly progress: 'always' | 'terminal' | 'none'
  /** The file that -c names: where probes are answered before it can be loaded. */
  readonly config?: string | undefined
  /** Receives every internal event; `say` prints a line above the table. */
  readonly watch?: (internalEvent: InternalEvent, say: (line: string) => void) => void
}

/** A longer stop is cut off: the next start continues from the last commit. */
const stopWithinMs = 4_500

/** Runs the daemon until a signal; with `once` until every planned stream was read to its last page. */
export async function run(load: () => Loaded, options: RunOptions, io: Io): Promise<number> {
  const loaded = options.once ? load() : await loadOnceThere(load, options.config, io)
  const { role = 'all' } = options
  if (role !== 'all' && (options.once || fleetState(loaded.config) === undefined)) {
    const remedy = 'remove --role, or set state to redis://…'
    throw new UsageError(`--role ${role} needs a state in Redis, which processes share; ${remedy}`)
  }
  const { config } = loaded
  const isShown =
    options.progress === 'always' || (options.progress === 'terminal' && progressMode(config, io) === 'live')
  const progress = isShown ? createProgress(config, io) : undefined
  const log = progress?.log
  const say = progress?.say ?? createTeller(config, io.stderr)
  // So does a run that ends by itself and draws a table.
  const hasLessLog = options.progress === 'none' || (log !== undefined && options.once)
  const isQuiet = hasLessLog && config.log.level === 'info'
  let lost = 0
  const runtime = createLoggedRuntime(config, {
    watch(internalEvent) {
      if (internalEvent.name === 'EventsLost') lost += internalEvent.count
      progress?.watch(internalEvent)
      options.watch?.(internalEvent, say)
    },
    ...(log !== undefined && { log }),
    ...(isQuiet && { logLevel: 'warn' }),
  })
  const fatal = new AbortController()
  const serve = !options.once || config.server.configured
  const sinkGone = (failure: Failure) => fatal.abort(failure)
  const daemon = new Daemon(loaded, { runtime, serve, role, sinkGone, systemd: process.env })
  const stop = AbortSignal.any([io.signal, fatal.signal])
  const stopFollowing = io.onHangup(() => {
    if (options.once) say('SIGHUP is ignored: run --once keeps the configuration that it began with')
    else void daemon.reload(load)
  })
  const shown = new AbortController()
  let following: Promise<void> | undefined
  let code: number = exitCodes.done
  try {
    await daemon.open(stop)
    following = progress?.follow(daemon, AbortSignal.any([stop, shown.signal]))
    code = options.once ? await shipOnce(daemon, say, () => lost, stop) : await shipOn(daemon, stop)
    fatal.signal.throwIfAborted()
    return code
  } catch (error) {
    if (!isFailure(error) || io.signal.aborted) throw error
    // Here and not where other commands' errors are told: the reason stands before `Stopped`, in the form of the log.
    if (runtime.logger.isEnabled('error')) runtime.telemetry.emit({ name: 'RunFailed', failure: error })
    else say(printable(messageOf(error)), 'error')
    code = exitCodes.failed
    return code
  } finally {
    stopFollowing()
    if (io.signal.aborted) runtime.telemetry.emit({ name: 'Stopping', signal: String(io.signal.reason) })
    shown.abort()
    const stopping = Promise.all([following, daemon.stop()])
    if ((await within(stopWithinMs, stopping, runtime.clock)) === 'late') io.exit(code)
    if (following !== undefined) progress?.end()
    runtime.telemetry.emit({ name: 'Stopped' })
  }
}

const askAgainMs = 2_000

/**
 * Waits for the files of secrets and certificates, which may be written after this process starts. Probes get the reason
 * meanwhile: nothing ends the process, and a person sees what it waits for.
 */
async function loadOnceThere(
  load: () => Loaded,
  file: string | undefined,
  { stderr, signal }: Io,
): Promise<Loaded> {
  await using waiting = new AsyncDisposableStack()
  let absent: ConfigErrors['errors'] = []
  for (;;) {
    try {
      return load()
    } catch (error) {
      if (!(error instanceof ConfigErrors) || !error.mayPass) throw error
      const isFirst = absent.length === 0
      absent = error.errors
      if (isFirst) waiting.defer(await answerProbes(file, () => absent, stderr))
    }
    await systemClock.sleep(askAgainMs, signal)
  }
}

/** Logs the reason, too. Resolves with what ends the answers. */
async function answerProbes(
  file: string | undefined,
  absent: () => ConfigErrors['errors'],
  stream: Io['stderr'],
) {
  const { token, ...address } = loadServerAddress(file)
  const reason = () => `waits for files that the configuration names: ${absent().map(errorLine).join(' ')}`
  const logger = createLogger({ level: 'info', format: 'auto', stream })
  logger.line('warn', 'Warned', `configuration: ${reason()}`)
  // No probe knows a port that is not chosen yet, and the process will have another one.
  if (address.port === 0) return () => undefined
  const metrics = createMetrics({ version, clock: systemClock })
  // While the file of the token is what is not there yet, nobody has it.
  const read = () => loadServerAddress(file).token?.reveal() ?? randomUUID()
  const own = token?.isResolved === false ? new Secret(randomUUID(), read) : token
  const server = await startServer({
    ...address,
    token: own,
    clock: systemClock,
    metrics,
    telemetry: createTelemetry(logger, metrics, systemClock),
    health: () => ({ healthy: true, loops: [] }),
    notReady: async () => [reason()],
    openReason() {
      const ofServer = absent().find(({ path }) => isWithin(path, 'server'))
      return ofServer && `waits for the file of ${ofServer.path}; the other reasons need that token`
    },
    status: async () => ({ starting: true }),
    views: () => undefined,
  })
  return () => server.stop()
}

async function shipOn(daemon: Daemon, stop: AbortSignal): Promise<number> {
  await daemon.start()
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }))
  return exitCodeOf([])
}

async function shipOnce(daemon: Daemon, say: Teller, lost: () => number, stop: AbortSignal): Promise<number> {
  const engine = daemon.engine()
  const deadLetters = async () => sumOf((await engine.status()).deadLetters, 'count')
  const before = await deadLetters()
  const givenUp = await engine.drain(randomUUID(), stop).catch((error: unknown) => {
    if (stop.aborted) return undefined
    throw error
  })
  if (givenUp === undefined) return exitCodeOf([])
  const refused = (await deadLetters()) - before
  const missing = daemon.missingZones()?.account
  const unread = [...Map.groupBy(givenUp, ({ reason }) => reason)].map(([reason, streams]) => {
    const names = streams.map(
      ({ planned: { stream } }) => `zone ${stream.zone} ${stream.day} → ${stream.sink}`,
    )
    return `not read to the end: ${firstOf(names, 5)}: ${printable(reason)}`
  })
  const complaints = [
    missing !== undefined && `nothing of account ${missing} was read: its zones cannot be listed`,
    ...unread,
    refused > 0 && `refused by a sink: ${counted(refused, 'event')}; \`dead-letters list\` shows the reasons`,
    lost() > 0 &&
      `acknowledged and dropped by a destination: ${counted(lost(), 'event')}; the log has its answers`,
  ].filter((line) => line !== false)
  for (const line of complaints) say(line, 'error')
  return exitCodeOf(complaints)
}

/** A stop by a signal is none. */
function exitCodeOf(complaints: readonly unknown[]): number {
  return complaints.length === 0 ? exitCodes.done : exitCodes.failed
}
