import { randomUUID } from 'node:crypto'
import { Option, type Command } from 'commander'
import { createRuntime } from '../assemble/runtime.ts'
import type { Role } from '../assemble/daemon/backend.ts'
import { Daemon } from '../assemble/daemon/daemon.ts'
import { fleetState } from '../assemble/state.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { systemClock } from '../clock.ts'
import type { Loaded } from '../config/load.ts'
import { messageOf, type Failure } from '../domain/failure.ts'
import { within } from '../domain/promises.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import { exitCodes, type Io, UsageError, type Registration } from './command.ts'
import { counted, sumOf } from './terminal/text.ts'
import { createProgress, type Progress } from './terminal/progress.ts'
import { createTeller, progressMode, type Teller } from './terminal/live.ts'
import { programName } from './program-name.ts'

export function register({ command, io, exit, load }: Registration): void {
  command
    .option('--once', 'read every planned stream to its last page once, then exit')
    .addOption(
      new Option('--role <role>', 'part of the work that this process does')
        .choices(['all', 'scheduler', 'worker'])
        .default('all'),
    )
    .addHelpText(
      'after',
      `\nExample:\n  SHIELDLOG_API_ACCESS_KEY=… SHIELDLOG_ZONES=101 ${programName()} run\n`,
    )
    .action(async ({ once = false, role }: { once?: boolean; role: Role }, command: Command) => {
      const progress = once ? 'always' : 'terminal'
      exit(await run(() => load(command), { once, role, progress }, io))
    })
}

export interface RunOptions {
  readonly once: boolean
  /** The share of the work for this process, where processes share it over Redis. */
  readonly role?: Role
  /** Shows pages, events and lag per zone, with a summary at the end; `terminal`: only as a table redrawn in place. */
  readonly progress: 'always' | 'terminal'
  /** Receives every internal event; `say` prints a line above the table. */
  readonly watch?: (internalEvent: InternalEvent, say: (line: string) => void) => void
}

/** A longer stop is cut off: the next start continues from the last commit. */
const stopWithinMs = 4_500

/** Runs the daemon until a signal; with `once` until every planned stream was read to its last page. */
export async function run(load: () => Loaded, options: RunOptions, io: Io): Promise<number> {
  const loaded = load()
  const { role = 'all' } = options
  if (role !== 'all' && (options.once || fleetState(loaded.config) === undefined)) {
    const remedy = 'remove --role, or set state to redis://…'
    throw new UsageError(`--role ${role} needs a state in Redis, which processes share; ${remedy}`)
  }
  const progress = progressFor(loaded, options, io)
  const say = progress?.say ?? createTeller(loaded.config, io.stderr)
  let lost = 0
  const runtime = createRuntime(loaded.config, {
    watch(internalEvent) {
      if (internalEvent.name === 'EventsLost') lost += internalEvent.count
      progress?.watch(internalEvent)
      options.watch?.(internalEvent, say)
    },
    ...(progress?.log !== undefined && { log: progress.log }),
    ...(progress?.log !== undefined && options.once && { logLevel: quieter(loaded.config.log.level) }),
  })
  const fatal = new AbortController()
  const serve = !options.once || loaded.config.server.configured
  const sinkGone = (failure: Failure) => fatal.abort(failure)
  const daemon = new Daemon(loaded, { runtime, serve, role, sinkGone })
  const stop = AbortSignal.any([io.signal, fatal.signal])
  const stopFollowing = io.onHangup(() => {
    if (options.once) say('SIGHUP is ignored: run --once keeps the configuration that it began with')
    else void daemon.reload(load)
  })
  const shown = new AbortController()
  let following: Promise<void> | undefined
  try {
    await daemon.open(stop)
    following = progress?.follow(daemon, AbortSignal.any([stop, shown.signal]))
    const code = options.once
      ? await shipOnce(daemon, { say, lost: () => lost }, stop)
      : await shipOn(daemon, stop)
    if (!fatal.signal.aborted) return code
    say(printable(messageOf(fatal.signal.reason)))
    return exitCodes.failed
  } finally {
    stopFollowing()
    if (io.signal.aborted) runtime.telemetry.emit({ name: 'Stopping', signal: String(io.signal.reason) })
    shown.abort()
    const stopping = Promise.all([following, daemon.stop()])
    if ((await within(stopWithinMs, stopping, runtime.clock)) === 'late')
      io.exit(fatal.signal.aborted ? 1 : 0)
    if (following !== undefined) progress?.end()
    runtime.telemetry.emit({ name: 'Stopped' })
  }
}

function progressFor({ config }: Loaded, { progress }: RunOptions, io: Io): Progress | undefined {
  if (progress === 'terminal' && progressMode(config, io) !== 'live') return undefined
  return createProgress(config, io, systemClock)
}

async function shipOn(daemon: Daemon, stop: AbortSignal): Promise<number> {
  await daemon.start()
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }))
  return exitCodes.done
}

async function shipOnce(
  daemon: Daemon,
  { say, lost }: { readonly say: Teller; readonly lost: () => number },
  stop: AbortSignal,
): Promise<number> {
  const deadLetters = async () => (await daemon.engine().status()).deadLetters
  const before = sumOf(await deadLetters(), 'count')
  const givenUp = await daemon
    .engine()
    .drain(randomUUID(), stop)
    .catch((error: unknown) => {
      if (stop.aborted) return undefined
      throw error
    })
  if (givenUp === undefined) return exitCodes.done
  const undelivered = sumOf(await deadLetters(), 'count') - before
  const missing = daemon.missingZones()
  if (missing !== undefined)
    say(`nothing of account ${missing.account} was read: its zones cannot be listed`, 'error')
  for (const line of complaints(givenUp)) say(line, 'error')
  if (undelivered > 0)
    say(
      `${counted(undelivered, 'event')} ${undelivered === 1 ? 'was' : 'were'} refused by a sink; \`dead-letters list\` shows the reasons`,
      'error',
    )
  if (lost() > 0) {
    const what =
      lost() === 1
        ? '1 event was dropped by its destination, which acknowledged it'
        : `${lost()} events were dropped by their destination, which acknowledged them and did not say which`
    say(`${what}; the log has its answers`, 'error')
  }
  const isWhole = missing === undefined && givenUp.length === 0 && undelivered + lost() === 0
  return isWhole ? exitCodes.done : exitCodes.failed
}

/** One line per reason, not per stream. */
function complaints(givenUp: Awaited<ReturnType<ReturnType<Daemon['engine']>['drain']>>): string[] {
  const byReason = Map.groupBy(givenUp, ({ reason }) => reason)
  return [...byReason].map(([reason, streams]) => {
    const named = streams
      .slice(0, 5)
      .map(({ planned: { stream } }) => `zone ${stream.zone} ${stream.day} → ${stream.sink}`)
    const more = streams.length > named.length ? ` and ${streams.length - named.length} more` : ''
    return `not read to the end: ${named.join(', ')}${more}: ${printable(reason)}`
  })
}

/** A run that ends by itself and draws a table logs warnings and errors only. */
function quieter(level: Loaded['config']['log']['level']): Loaded['config']['log']['level'] {
  return level === 'info' ? 'warn' : level
}
