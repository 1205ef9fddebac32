import type { PlannedStream } from '../../domain/plan.ts'
import { streamKey, type Lane } from '../../domain/stream.ts'
import { shareOfSink } from '../fair-share.ts'
import { createSinkPulse } from '../sink-pulse.ts'
import type { Choice, Consumer } from './consumer.ts'
import type { Links } from './links.ts'
import { createPumpJobs } from './pump-jobs.ts'
import { laneQueues } from './queue-names.ts'
import { addJobs } from './queues.ts'

export interface WorkerPart {
  readonly consumers: readonly Consumer[]
  /** Looks what of the live lane comes before backfills; to be called several times a second. */
  look(): Promise<void>
}

/** What a look found; instants by the clock that never jumps. */
interface View {
  readonly accounts: ReadonlySet<string>
  readonly dues: readonly { readonly account: string; readonly sink: string; readonly atMs: number }[]
  readonly backfillSinks: number
}

/** Forecasts come over Redis: too early by so much rather than too late. */
const earlyMs = 250

/**
 * Pumps what is queued. No sink takes all places of a lane: a job whose sink has none left stays in the queue, and the
 * first one that may start comes before it. Backfills have places of their own; they start and go on only while no live
 * stream of their account is due.
 */
export function createWorkerPart({ options, deps, queues, queueing, consume }: Links): WorkerPart {
  const { clock } = deps
  /** Undefined until it is known what waits; then, while there is nothing to backfill. */
  let view: View | undefined
  /** Streams of this process's backfills that have become due live. */
  let wanted: ReadonlySet<string> = new Set()
  const pulse = createSinkPulse(clock)

  const jobs = createPumpJobs({
    ...deps,
    pulse,
    mayBackfill: ({ stream, zone }: PlannedStream) =>
      view !== undefined && !isLiveDue(view, zone.account) && !wanted.has(streamKey(stream)),
    hasPlace: (lane, sink) => !fullSinks(lane).includes(sink),
    queueAgain: (queued, trace) => addJobs(queues, queued.lane, [queued], trace),
  })

  function isLiveDue({ accounts, dues }: View, account: string): boolean {
    const nowMs = clock.monotonic()
    return (
      accounts.has(account) ||
      dues.some((due) => due.account === account && due.atMs <= nowMs && !pulse.hangs(due.sink))
    )
  }

  function fullSinks(lane: Lane): string[] {
    const share =
      lane === 'live'
        ? shareOfSink(options.streams, deps.sinks)
        : shareOfSink(options.backfillStreams, Math.min(deps.sinks, view?.backfillSinks ?? deps.sinks))
    const bySink = Map.groupBy(jobs.running(lane), ({ sink }) => sink)
    return [...bySink].filter(([, streams]) => streams.length >= share).map(([sink]) => sink)
  }

  async function choose(lane: Lane, accounts: readonly string[]): Promise<Choice> {
    const sinks = fullSinks(lane)
    if (sinks.length + accounts.length === 0) return 'next'
    return (await queueing.bringForward(lane, { sinks, accounts })) ? 'next at hand' : 'none'
  }

  async function chooseBackfill(): Promise<Choice> {
    const seen = view
    if (seen === undefined) return 'none'
    const known = new Set([...seen.accounts, ...seen.dues.map(({ account }) => account)])
    return choose(
      'backfill',
      [...known].filter((account) => isLiveDue(seen, account)),
    )
  }

  const live = consume(laneQueues.live, {
    slots: options.streams,
    loop: 'worker',
    choose: () => choose('live', []),
    work: (data, signal) => jobs.work('live', data, signal),
  })
  const backfill = consume(laneQueues.backfill, {
    slots: options.backfillStreams,
    loop: 'worker',
    choose: chooseBackfill,
    work: (data, signal) => jobs.work('backfill', data, signal),
  })
  return {
    consumers: [live, backfill],
    async look() {
      const backfilling = jobs.running('backfill')
      const [lane, due] = await Promise.all([
        queueing.look(backfilling.length, pulse.hanging()),
        queueing.wantedLive(backfilling),
      ])
      wanted = new Set(due.map(streamKey))
      if (lane === undefined) {
        view = undefined
        return
      }
      const { accounts, forecast, forecastAgeMs } = lane
      const fromMs = clock.monotonic() - forecastAgeMs - earlyMs
      const dues = forecast?.dues ?? []
      view = {
        accounts,
        dues: dues.map(({ account, sink, inMs }) => ({ account, sink, atMs: fromMs + inMs })),
        backfillSinks: forecast?.backfillSinks ?? deps.sinks,
      }
    },
  }
}
