import { shiftDay, startOf } from '../../../src/domain/day.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan-route.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import { checkStream } from './check-stream.ts'
import { createRun, firstDay, type Run, type RunOptions } from './run.ts'
import { verdict, type RunResult } from './verdict.ts'
import { createWorker, type Worker } from './worker.ts'

/** One random run of the real pump and the real store against a model of the API. Throws where a promise is broken. */
export async function runModel(options: RunOptions): Promise<RunResult> {
  const run = await createRun(options)
  try {
    // Some hours more than the last day can be read, so that it ends.
    await runUntil(run, startOf(shiftDay(firstDay, options.days + 3)) + 4 * 3_600_000 - options.world.skewMs)
    return await verdict(run)
  } finally {
    await run.keeper.close()
  }
}

export async function runUntil(run: Run, endMs: number): Promise<void> {
  const { faults, random, options, time } = run
  let worker = createWorker(run)
  while (time.hostMs < endMs) {
    await faults.thawDue(time.hostMs)
    if (run.troubles.has('not running', run.world.now())) {
      worker.end()
      time.hostMs += 600_000
      continue
    }
    if (random.chance(options.setBackShare)) {
      worker.end()
      await faults.thawAll()
      await (random.chance(0.7) ? run.keeper.copy() : run.keeper.setBack())
    }
    if (worker.isEnded()) worker = createWorker(run)
    await turn(run, worker)
  }
  await faults.thawAll()
}

/** One turn of a schedule: the most urgent stream is pumped, or time passes. */
async function turn(run: Run, worker: Worker): Promise<void> {
  const { faults, options, random, time } = run
  await worker.planner.remember()
  const planned = (await worker.planner.plan()).filter(
    ({ stream }) => !faults.isFrozen(streamKey(stream)) || options.fleet,
  )
  const leftMs = ({ dueAtMs, zone }: PlannedStream) => dueAtMs - worker.apiClock.now(zone.account)
  if (random.chance(options.readRequestShare)) makeReadRequest(run, planned)
  const isRequested = ({ stream, checkpoint, zone }: PlannedStream) =>
    run.readRequests.has(streamKey(stream)) &&
    (checkpoint?.trouble?.retryAtMs ?? 0) <= worker.apiClock.now(zone.account)
  const requested = planned.find((each) => isRequested(each) && random.chance(0.2))
  const next = requested ?? planned.find((each) => leftMs(each) <= 0)
  if (next === undefined) {
    time.hostMs += Math.min(
      Math.max(1_000, ...planned.map(leftMs).sort(byNumber).slice(0, 1)),
      options.everyMs,
    )
    return
  }
  const before = (await run.keeper.store().ledger.read(next.stream))?.lastFull?.beganAtMs
  const end = await worker.pump(next, run.readRequests.get(streamKey(next.stream)))
  if (end === 'failed') time.hostMs += 5_000
  await checkStream(run, next.stream, before)
  time.hostMs += 10
}

function makeReadRequest(run: Run, planned: readonly PlannedStream[]): void {
  const wanted = planned.filter(({ state }) => state !== 'expired')
  if (wanted.length === 0) return
  const key = streamKey(run.random.pick(wanted).stream)
  if (!run.readRequests.has(key)) run.readRequests.set(key, `read request ${run.time.hostMs}`)
}

function byNumber(left: number, right: number): number {
  return left - right
}
