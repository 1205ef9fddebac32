import type { BackfillTasks, BackfillLook, InPlace } from '../../assemble/backfill.ts'
import { printable } from '../../domain/text/printable.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import { streamKey } from '../../domain/stream.ts'
import { followBackfill } from './follow.ts'
import { leftOutLines } from './text.ts'
import type { BackfillView } from './view.ts'
import { exitCodes, type Io } from '../io.ts'
import { paintFor } from '../terminal/terminal.ts'
import { commandLine } from '../program-name.ts'

export interface ServeJob {
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
