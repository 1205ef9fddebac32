import type { BackfillLook, InPlace } from '../../assemble/backfill.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema.ts'
import { streamKey } from '../../domain/stream.ts'
import { leftOutLines } from './text.ts'
import { exitCodes, type Io } from '../command.ts'
import { paintFor } from '../terminal/text.ts'
import { commandLine } from '../program-name.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import { BackfillTasks, shippingProcess } from '../../assemble/backfill.ts'
import { openWork } from '../../assemble/work.ts'
import type { Command } from 'commander'
import { createBackfillView, type BackfillView } from './view.ts'
import type { Loaded } from '../../config/load.ts'
import type { Registration } from '../command.ts'

interface ServeJob {
  readonly id: string
  readonly watch: boolean
  /** Printed to stdout once the backfill is under way. */
  readonly said: string
  readonly config: Config
  readonly tasks: BackfillTasks
  readonly view: BackfillView
  readonly io: Io
}

/**
 * Leaves a backfill to the process that ships on the store, or reads it in this process where there is none. Returns
 * the exit code: 1 where a part was left out, given up, or not read to its end.
 */
export async function serveBackfill(job: ServeJob): Promise<number> {
  const { id, watch, tasks, view, io } = job
  const holder = await tasks.worker()
  // Keeps the id apart from events that this process ships to stdout.
  const toStdout = holder === undefined && job.config.sinks.some(({ type }) => type === 'stdout')
  const output = toStdout ? io.stderr : io.stdout
  // The id is alone on its line, for scripts.
  output.write(`${output.isTTY === true ? 'backfill ' : ''}${job.said}\n`)
  if (holder === undefined) {
    const served = await serveHere(job)
    if (served.as === 'ended') return conclude(job, await tasks.look(id), served)
  }
  view.say(`${printable((await tasks.worker()) ?? holder ?? 'another process')} works on it`)
  if (!watch) return leftOutCode(await tasks.look(id))
  const last = await followBackfill({ id, tasks, view, clock: systemClock, needsWorker: true }, io.signal)
  if (io.signal.aborted) return exitCodes.done
  return conclude(job, last, { as: 'ended', givenUp: [] })
}

async function serveHere({ id, tasks, view, io }: ServeJob): Promise<InPlace> {
  const ended = new AbortController()
  const signal = AbortSignal.any([io.signal, ended.signal])
  view.say(
    'no run is active on this state, so this command reads the days itself; after a stop the next run continues',
  )
  const following = followBackfill({ id, tasks, view, clock: systemClock, needsWorker: false }, signal)
  // It ends with the work, and its error is handled there.
  following.catch(() => undefined)
  try {
    return await tasks.runInPlace(id, io.signal)
  } finally {
    ended.abort()
    await following
    if (io.signal.aborted)
      view.say(`stopped; the next run continues it, or: ${commandLine(`backfill resume ${id}`)}`)
  }
}

function conclude(
  { id, view, io }: ServeJob,
  look: BackfillLook | undefined,
  { givenUp }: Extract<InPlace, { as: 'ended' }>,
): number {
  if (look === undefined) {
    view.say(`backfill ${id} is no longer in the store`)
    return exitCodes.failed
  }
  const { width, bad } = paintFor(io.stderr)
  const summary = view.end(look)
  for (const line of leftOutLines(look.streams, width)) view.say(bad(line), 'error')
  const queued = new Set(
    look.streams.flatMap(({ stream, state }) => (state === 'queued' ? [streamKey(stream)] : [])),
  )
  for (const { planned, reason } of givenUp) {
    const { zone, day, sink } = planned.stream
    if (queued.has(streamKey(planned.stream)))
      view.say(bad(`  ${day}  zone ${zone} → ${printable(sink)} failed: ${printable(reason, 500)}`), 'error')
  }
  view.say(summary)
  if (queued.size === 0) return leftOutCode(look)
  const remedy = `the next run tries again, or: ${commandLine(`backfill resume ${id}`)}`
  if (look.backfill.state === 'running') view.say(remedy)
  if (look.backfill.state === 'paused') view.say(`to continue: ${commandLine(`backfill resume ${id}`)}`)
  return exitCodes.failed
}

function leftOutCode(look: BackfillLook | undefined): number {
  const isWhole = look?.streams.every(({ state }) => state !== 'left_out') ?? false
  return isWhole ? exitCodes.done : exitCodes.failed
}

/** A run that is being restarted is back within this time. */
const workerPatienceMs = 60_000
const askWorkerMs = 2_000
/** Reading the state may take at most a tenth of the time. */
const lookShare = 10

interface FollowOptions {
  readonly id: string
  readonly tasks: BackfillTasks
  readonly view: BackfillView
  readonly clock: Clock
  /** Ends when no process ships on the store for a minute. */
  readonly needsWorker: boolean
}

/**
 * Shows the progress of a backfill until it no longer runs, no process works on it, or the signal aborts. Resolves with
 * its last state; undefined when it no longer exists. Throws the Failures of a store that stays unreachable.
 */
async function followBackfill(
  { id, tasks, view, clock, needsWorker }: FollowOptions,
  signal: AbortSignal,
): Promise<BackfillLook | undefined> {
  let askedAtMs = -Infinity
  let aloneSinceMs: number | undefined
  let failures = 0

  async function isAbandoned(): Promise<boolean> {
    if (!needsWorker || clock.monotonic() - askedAtMs < askWorkerMs) return false
    askedAtMs = clock.monotonic()
    if ((await tasks.worker()) !== undefined) {
      if (aloneSinceMs !== undefined) view.say('a process runs on the state again')
      aloneSinceMs = undefined
      return false
    }
    if (aloneSinceMs === undefined) view.say('no process runs on the state; waiting for one')
    aloneSinceMs ??= clock.monotonic()
    return clock.monotonic() - aloneSinceMs >= workerPatienceMs
  }

  for (;;) {
    const beganMs = clock.monotonic()
    const look = await tasks.look(id).catch((error: unknown) => {
      if (!isFailure(error, 'store_unavailable') || ++failures > 10) throw error
      return 'busy' as const
    })
    if (look !== 'busy') {
      failures = 0
      if (look !== undefined) view.show(look)
      const isOver = look === undefined || look.backfill.state !== 'running'
      if (isOver || signal.aborted || (await isAbandoned())) return look
    }
    const tookMs = clock.monotonic() - beganMs
    await clock.sleep(Math.max(view.pauseMs(), tookMs * lookShare), signal).catch(() => undefined)
  }
}

/** Where a process ships on the state, the backfill is left to it; else this command delivers, with the secrets of sinks. */
export async function loadToBackfill(load: Registration['load'], command: Command): Promise<Loaded> {
  const loaded = load(command, 'comparison')
  return (await shippingProcess(loaded.config)) === undefined ? load(command, 'delivery') : loaded
}

/**
 * Logs less than a run: the progress display shows what happens. Both are text for people, unless the configuration asks
 * for JSON: then both are JSON lines.
 */
export async function withTasks<Value>(
  { log, ...others }: Config,
  io: Io,
  use: (tasks: BackfillTasks, view: BackfillView) => Promise<Value>,
): Promise<Value> {
  const { level, format } = log
  const config: Config = { ...others, log: { ...log, format: format === 'json' ? 'json' : 'pretty' } }
  const view = createBackfillView(config, io, systemClock)
  await using work = await openWork(config, { store: 'existing' }, io.signal)
  const logLevel = level === 'info' ? 'warn' : level
  const tasks = new BackfillTasks(work, { logLevel, ...(view.log !== undefined && { log: view.log }) })
  return await use(tasks, view)
}
