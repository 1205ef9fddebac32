import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { shiftDay, startOf } from '../../../src/domain/day.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import { isReadable } from '../../../src/domain/plan/stream-state.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import { halfShipped, shipFromArchive } from './archives.ts'
import { checkStream, isExact } from './check-stream.ts'
import { filesName } from './entry.ts'
import type { RunOptions } from './any-run.ts'
import { createRun, firstDay, type Run } from './run.ts'
import { verdict } from './verdict.ts'
import { createWorker, type Worker } from './worker.ts'

/**
 * One random run of the real pump and the real store against a model of the API. Throws where a promise is broken.
 * Resolves to the number of its requests.
 */
export async function runModel(options: RunOptions): Promise<number> {
  const run = await createRun(options)
  try {
    // Some hours more than the last day can be read, so that it ends: by the clock of the API, then by both clocks of the
    // host, and once the wall clock is right again, since a stream may back off for an hour before it finds that out.
    const hoursMs = 4 * 3_600_000
    const endMs = startOf(shiftDay(firstDay, options.days + 3)) + hoursMs
    const stepsEndMs = options.clockSteps.map(
      ({ afterMs, forMs }) => run.time.hostMs + afterMs + (forMs ?? 0) + hoursMs,
    )
    await runUntil(run, Math.max(endMs - options.world.skewMs, ...stepsEndMs))
    while (Math.min(run.clock.now(), run.clock.steady()) < endMs)
      await runUntil(run, run.time.hostMs + 3_600_000)
    await verdict(run)
    return run.world.requests
  } finally {
    await run.keeper.store.close()
  }
}

async function runUntil(run: Run, endMs: number): Promise<void> {
  const { faults, random, options, time } = run
  let worker = createWorker(run)
  let keptHouseAtMs = time.hostMs
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
      if (random.chance(0.7)) {
        run.keeper.copy()
        run.knownInCopy = new Map(run.known)
      } else if (run.keeper.setBack()) run.known = new Map(run.knownInCopy)
    }
    if (worker.isEnded()) worker = createWorker(run)
    await turn(run, worker)
    if (time.hostMs >= keptHouseAtMs + 1_800_000) {
      keptHouseAtMs = time.hostMs
      await keepHouse(run, worker)
    }
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
  if (random.chance(options.backfillShare)) await backfill(run, worker)
  if (random.chance(options.resendShare)) await resend(run, worker)
  // No random number is drawn where there are none, so that former runs stay as they were.
  if (options.archiveShare > 0 && random.chance(options.archiveShare)) await shipFromArchive(run)
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
  const before = await run.keeper.store.ledger.read(next.stream)
  const { priority, readRequest = { id: run.readRequests.get(streamKey(next.stream)) } } = next
  const end = await worker.pump(next, readRequest.id, priority)
  if (end === 'failed') time.hostMs += 5_000
  await checkStream(run, next.stream, before)
  if (end === 'done' && next.stream.sink === filesName) await checkFiles(run, worker, before, next)
  time.hostMs += 10
}

/** A pump that had something for the files leaves no line there that nobody commits. */
async function checkFiles(
  { files, keeper }: Run,
  { writer }: Worker,
  before: Checkpoint | undefined,
  { stream, readRequest }: PlannedStream,
): Promise<void> {
  const { committed, counters, ended } = (await keeper.store.ledger.read(stream))!
  const hasDelivered = counters.delivered > (before?.counters.delivered ?? 0)
  const hasEnded = ended !== undefined && before?.ended === undefined
  if (!hasDelivered && !hasEnded && readRequest === undefined) return
  const [line] = files.leftOver(stream, committed, writer)
  if (line !== undefined)
    throw new Error(`${streamKey(stream)}: ${line} stands in the files without a commit`)
}

/** Nothing that the API still lists may go: it would be read again. */
async function keepHouse(run: Run, worker: Worker): Promise<void> {
  const { catalogue } = run.keeper.store
  const before = await catalogue.checkpoints()
  const half = await halfShipped(run)
  await worker.keepHouse()
  for (const stream of half)
    if ((await run.keeper.store.ledger.dropped(stream)) !== undefined)
      throw new Error(`${streamKey(stream)}: half shipped from an archive, and its index was dropped`)
  const left = new Set((await catalogue.checkpoints()).map(({ stream }) => streamKey(stream)))
  for (const checkpoint of before) {
    const key = streamKey(checkpoint.stream)
    if (left.has(key)) continue
    if (isReadable(checkpoint.stream.day, run.world.now(), run.policy))
      throw new Error(`${key}: pruned while the API still lists it`)
    // A request that was refused has left another one, which shows nothing.
    if (!run.keeper.pruned.has(key)) run.keeper.pruned.set(key, checkpoint)
  }
}

/** A person asks for a day that has begun: a lost one, one that was shipped, or one that was pruned. */
async function backfill(run: Run, worker: Worker): Promise<void> {
  const { backfills, days, keeper, random, world, zones } = run
  const [zone, day, sink] = [random.pick(zones), random.pick(days), random.pick(run.sinksNow())]
  const stream = { zone: zone.id, day, sink }
  const key = streamKey(stream)
  if (startOf(day) > world.now() || run.faults.isFrozen(key)) return
  const before = await keeper.store.ledger.read(stream)
  // Until it is answered the request stays.
  const request = backfills.get(key) ?? `backfill ${run.time.hostMs}`
  backfills.set(key, request)
  await worker.pump({ stream, zone, ordering: unknownOrdering }, request, 'backfill')
  await checkStream(run, stream, before)
  if ((await keeper.store.ledger.read(stream))?.lastRequest?.id === request) backfills.delete(key)
}

/** The destination loses a day. Lag and state stay as they were; nothing but the request ships the day again. */
async function resend(run: Run, worker: Worker): Promise<void> {
  const { days, keeper, options, random, world, zones } = run
  // A store that is set back does not know of it.
  if (options.setBackShare + options.faults.failover > 0) return
  const { ledger, backfills } = keeper.store
  const stream = { zone: random.pick(zones).id, day: random.pick(days), sink: random.pick(run.sinksNow()) }
  const before = await ledger.read(stream)
  if (isExact(stream.sink) || before?.lastFull === undefined || startOf(stream.day) > world.now()) return
  const id = `resend ${run.time.hostMs}`
  const { day } = stream
  const streams = [{ stream, state: 'queued' as const }]
  await backfills.add({ id, createdAtMs: run.time.hostMs, from: day, to: day, state: 'running', streams })
  await worker.unsee(stream, id)
  const after = await ledger.read(stream)
  if (after?.resend?.request !== id) return
  run.receiver.lose(stream)
  if (after.caughtUpAtMs !== before.caughtUpAtMs || after.ended?.as !== before.ended?.as)
    throw new Error(`${streamKey(stream)}: a resend has changed its state or lag`)
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
