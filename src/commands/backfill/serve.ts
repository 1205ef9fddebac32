import type { Command } from 'commander'
import { lookAt, runInPlace, shippingProcess } from '../../assemble/backfill.ts'
import { openWork, type Work } from '../../assemble/work.ts'
import { systemClock } from '../../clock.ts'
import type { Loaded } from '../../config/load.ts'
import type { Config } from '../../config/schema.ts'
import { isFailure } from '../../domain/failure.ts'
import type { BackfillStatus } from '../../domain/status/status.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { exitCodes, resultOutput, type Io, type Registration } from '../command.ts'
import { commandLine } from '../program-name.ts'
import { paintFor } from '../terminal/text.ts'
import { failingLines, leftOutLines } from './text.ts'
import { createBackfillView, mostRows, type BackfillView } from './view.ts'

/** Where a process ships on the state, the backfill is left to it; else this command delivers, with the secrets of sinks. */
export async function loadToBackfill(load: Registration['load'], command: Command): Promise<Loaded> {
  const loaded = load(command, 'comparison')
  return (await shippingProcess(loaded.config)) === undefined ? load(command, 'delivery') : loaded
}

export interface Shown {
  readonly work: Work
  readonly view: BackfillView
  readonly io: Io
}

/**
 * Logs less than a run: the progress display shows what happens. Both are text for people, unless the configuration asks
 * for JSON: then both are JSON lines.
 */
export async function withView(
  { log, ...others }: Config,
  io: Io,
  use: (shown: Shown) => Promise<number>,
): Promise<number> {
  const config: Config = { ...others, log: { ...log, format: log.format === 'json' ? 'json' : 'pretty' } }
  const view = createBackfillView(config, io, systemClock)
  await using work = await openWork(config, { store: 'existing' }, io.signal)
  return await use({ work, view, io })
}

interface Serving extends Shown {
  readonly id: string
  readonly watch: boolean
  /** Printed to stdout once the backfill is under way. */
  readonly said: string
}

/**
 * Leaves a backfill to the process that ships on the store, or reads it in this process where there is none. Returns
 * the exit code: 1 where a part was left out, given up, or not read to its end.
 */
export async function serveBackfill(serving: Serving): Promise<number> {
  const { id, watch, said, work, view, io } = serving
  const { config } = work
  const holder = await shippingProcess(config)
  const output = resultOutput(io, holder === undefined ? config.sinks : [])
  // The id is alone on its line, for scripts.
  output.write(`${output.isTTY === true ? 'backfill ' : ''}${said}\n`)
  if (holder === undefined && (await isServedHere(serving)))
    return conclude(serving, await lookAt(work, id, mostRows))
  view.say(`${printable((await shippingProcess(config)) ?? holder ?? 'another process')} works on it`)
  if (!watch) return leftOutCode(await lookAt(work, id, mostRows))
  const last = await follow(serving, true, io.signal)
  return io.signal.aborted ? exitCodes.done : conclude(serving, last)
}

/** False where another process ships on the store meanwhile. */
async function isServedHere(serving: Serving): Promise<boolean> {
  const { id, work, view, io } = serving
  const ended = new AbortController()
  view.say(
    'no run is active on this state, so this command reads the days itself; after a stop the next run continues',
  )
  const following = follow(serving, false, AbortSignal.any([io.signal, ended.signal]))
  // It ends with the work, and its error is handled there.
  following.catch(() => undefined)
  try {
    const { createRuntime } = await import('../../assemble/runtime.ts')
    const { config } = work
    const { level } = config.log
    const logLevel = level === 'info' ? 'warn' : level
    const options = { logLevel, ...(view.log !== undefined && { log: view.log }) } as const
    const runtime = createRuntime(config, options)
    await using here = await openWork(config, { store: 'created', runtime }, io.signal)
    return (await runInPlace(here, id, io.signal)) !== undefined
  } finally {
    ended.abort()
    await following
    if (io.signal.aborted)
      view.say(`stopped; the next run continues it, or: ${commandLine(`backfill resume ${id}`)}`)
  }
}

const remedies: Readonly<Record<string, string>> = {
  running: 'the next run tries again, or',
  paused: 'to continue',
}

function conclude({ id, view, io }: Serving, look: BackfillStatus | undefined): number {
  if (look === undefined) {
    view.say(`backfill ${id} is no longer in the store`)
    return exitCodes.failed
  }
  const { width, bad } = paintFor(io.stderr)
  const summary = view.end(look)
  const wrong = [...leftOutLines(look.reasons, width), ...failingLines(look.errors)]
  for (const line of wrong) view.say(bad(line), 'error')
  view.say(summary)
  if (look.queued === 0) return leftOutCode(look)
  const remedy = remedies[look.state]
  if (remedy !== undefined) view.say(`${remedy}: ${commandLine(`backfill resume ${id}`)}`)
  return exitCodes.failed
}

function leftOutCode(look: BackfillStatus | undefined): number {
  return look?.leftOut === 0 ? exitCodes.done : exitCodes.failed
}

/** A run that is being restarted is back within this time. */
const workerPatienceMs = 60_000
const askWorkerMs = 2_000
/** Reading the state may take at most a tenth of the time. */
const lookShare = 10
const mostFailures = 10

/**
 * Shows the progress of a backfill until it no longer runs, the signal aborts, or, where it needs one, no process has
 * shipped on the store for a minute. Resolves with its last state; undefined when it no longer exists. Throws the
 * Failures of a store that stays unreachable.
 */
async function follow(
  { id, work, view }: Serving,
  needsWorker: boolean,
  signal: AbortSignal,
): Promise<BackfillStatus | undefined> {
  let failures = 0
  let [askedAtMs, servedAtMs] = [-Infinity, systemClock.monotonic()]
  for (;;) {
    const beganMs = systemClock.monotonic()
    try {
      const look = await lookAt(work, id, mostRows)
      if (look !== undefined) view.show(look)
      if (look === undefined || look.state !== 'running' || signal.aborted) return look
      if (needsWorker && beganMs - askedAtMs >= askWorkerMs) {
        askedAtMs = beganMs
        if ((await shippingProcess(work.config)) !== undefined) servedAtMs = beganMs
        else if (beganMs - servedAtMs >= workerPatienceMs) return look
      }
      failures = 0
    } catch (error) {
      if (!isFailure(error, 'store_unavailable') || ++failures > mostFailures) throw error
    }
    const tookMs = systemClock.monotonic() - beganMs
    await systemClock.sleep(Math.max(view.pauseMs(), tookMs * lookShare), signal).catch(() => undefined)
  }
}
