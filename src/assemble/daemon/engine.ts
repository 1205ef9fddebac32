import { setImmediate } from 'node:timers/promises'
import type { Config } from '../../config/schema.ts'
import { cancelled, isFailure, type Failure } from '../../domain/failure.ts'
import type { Notice } from '../../domain/notices.ts'
import type { PlannedStream } from '../../domain/plan/plan.ts'
import type { Zone } from '../../domain/stream.ts'
import { keepLatest } from '../../domain/promises.ts'
import type { Observation, ObservedRoute } from '../../domain/status/observation.ts'
import type { StatusViews } from '../../domain/status/status-views.ts'
import type { Schedule } from '../../ports/process.ts'
import { createHousekeeping } from '../../maintenance/housekeeping/housekeep.ts'
import { createDayRemoval } from '../../maintenance/housekeeping/remove-days.ts'
import { observe, StreamTally } from '../../status/observe.ts'
import { planOne } from '../../plan/plan-one.ts'
import { readFleet, statusOf, type StatusInSteps } from '../../status/status.ts'
import { ZoneFollower } from '../../maintenance/read/follow.ts'
import type { LagHistory } from '../../status/lag-history.ts'
import { LiveTail } from '../../status/live-tail.ts'
import { readPage } from '../../status/map.ts'
import { createStatusViews } from '../../status/day.ts'
import { drain, type GivenUp } from '../../schedule/local/drain.ts'
import { createTickTracing } from '../../telemetry/tracing.ts'
import { keepNotified } from '../../maintenance/notices/notice-loop.ts'
import { Messenger } from '../../notify/post.ts'
import { keepFigures, type FiguresDeps } from '../../maintenance/figures/figures-loop.ts'
import { readFigures } from '../../shield/figures.ts'
import type { Backend } from './backend.ts'
import { deadLetterReader } from '../dead-letters.ts'
import { watchDisks } from '../sink-space.ts'
import { SinkHolds } from '../held-sinks.ts'
import type { Runtime } from '../runtime.ts'
import { isRetired } from '../../discovery/with-zones.ts'
import { version } from '../version.ts'
import { createReading } from '../reading.ts'
import { createShipping, type Shipping } from '../shipping.ts'

/** Schedules and ships the streams of one configuration, over one store. */
export interface Engine {
  readonly shipping: Shipping
  readonly schedule: Schedule
  /** Starts the schedule, and the reading of figures for metrics. */
  start(): Promise<void>
  /** Pumps every planned stream to its end once. Returns the streams given up. */
  drain(readRequestId: string, signal: AbortSignal): Promise<GivenUp[]>
  observe(): Promise<Observation>
  status(): Promise<StatusInSteps>
  /** What the status page shows. */
  readonly views: StatusViews
  /** Takes a sample for the history of the page. Call it every half minute. Throws the Failures of a store. */
  sample(): Promise<void>
  /** Requests the address of `heartbeat`, where this process of several does that. Throws Failure. */
  beat(reasons: readonly string[], signal: AbortSignal): Promise<void>
  /** Stops the schedule, then closes sinks and clients. Idempotent. */
  close(): Promise<void>
}

interface EngineOptions {
  readonly runtime: Runtime
  readonly backend: Backend
  /** Where accounts discover their zones, these change while the engine runs. */
  readonly zones: () => readonly Zone[]
  /** Reads the zones again, for work on a zone that another process has found. */
  readonly readZones: () => Promise<void>
  /** Called at each turn of a loop that must keep running. */
  readonly turned: (loop: string) => void
  /** Called when the reader of stdout closed the pipe: nothing can be shipped there any more. */
  readonly sinkGone: (failure: Failure) => void
  /** Of the last hour; a reload keeps it. */
  readonly history: LagHistory
}

/** Viewers who ask within this time share one reading of the store. */
const freshMs = 2_000
const minuteMs = 60_000

export function createEngine(config: Config, options: EngineOptions): Engine {
  const { runtime, backend, zones, readZones, turned, sinkGone, history } = options
  const { store } = backend
  const holds = new SinkHolds(config, store, runtime)
  const reading = createReading(config, runtime, backend.limitsOf)
  const shipping = createShipping(config, runtime, { ...backend, reading, zones, held: () => holds.held })
  const { clock, apiClock, telemetry } = runtime
  const { keepDays } = config.state
  const { planner, settings } = shipping
  const nowOf = ({ zone }: PlannedStream) => apiClock.now(zone.account)
  const keepHouse = createHousekeeping({ store, apiClock, settings, keepDays })
  const { deps, sinks } = shipping
  const removeDays = createDayRemoval({ ...deps, settings, sinks })
  const active = new StreamTally()

  async function pump(planned: PlannedStream, signal: AbortSignal) {
    active.add(planned.priority, planned.stream.sink, 1)
    try {
      const failure = await shipping.pump(planned, signal)
      if (isFailure(failure, 'sink_gone')) sinkGone(failure)
      return failure
    } finally {
      active.add(planned.priority, planned.stream.sink, -1)
    }
  }

  const schedule = backend.createSchedule(config, {
    clock,
    telemetry,
    tracing: createTickTracing(clock, version),
    now: nowOf,
    turned,
    pump,
    fail: shipping.fail,
    async plan() {
      await holds.refresh()
      await planner.remember()
      return planner.plan()
    },
    async planned(stream, priority) {
      await holds.refresh()
      // Who queued it may know zones that this process has not read yet.
      if (!zones().some(({ id }) => id === stream.zone)) await readZones()
      return planOne({ store, apiClock, settings }, stream, priority)
    },
    housekeep: keepHouse,
    // By the processes that reach the files.
    async reconcile(signal) {
      await shipping.reconciler.turn(signal)
      await removeDays(signal)
    },
    reconnected: shipping.reconciler.allAgain,
  })
  const observed = {
    store,
    clock,
    apiClock,
    planner,
    settings,
    active,
    workers: backend.workers,
    isRetired: (zone: number) => isRetired(config, zone),
    turn: setImmediate,
    queued: () => schedule.queues?.(),
    keepDays,
    pauses,
  }

  async function pauses() {
    const all = config.accounts.map(async ({ name }) => {
      const untilMs = await reading.gateOf(name).pausedUntil()
      return untilMs === undefined ? [] : [{ account: name, until: new Date(untilMs).toISOString() }]
    })
    return (await Promise.all(all)).flat()
  }

  const { uploadScanning, volumes } = config.metrics
  const figures: FiguresDeps = {
    clock,
    telemetry,
    read: ({ of, account }, signal) => readFigures(reading.clientOf(account), of, signal),
    mayRead: backend.leads,
    targets: () => [
      ...every(
        uploadScanning,
        zones().map(({ id, account }) => ({ of: { zone: id }, account })),
      ),
      ...every(volumes, volumes?.apps.map(({ id, account }) => ({ of: { app: id }, account })) ?? []),
    ],
  }
  const stopped = new AbortController()
  let figuresRead: Promise<void> | undefined
  const messenger = new Messenger(clock, version)
  const places = new Map(config.notify.map((place) => [place.name, place]))
  const fullDisks = watchDisks(config, clock)
  const notices = {
    clock,
    telemetry,
    store,
    mayTell: backend.leads,
    problems: async () => [...(await fullDisks()), ...(await readFleet(observed)).status.problems],
    places: [...places.keys()],
    post: (name: string, notice: Notice, signal: AbortSignal) =>
      messenger.tell(places.get(name)!, notice, store.id, signal),
  }
  let notified: Promise<void> | undefined

  async function heldStreams(): Promise<GivenUp[]> {
    if (holds.held.size === 0) return []
    return (await planner.routes()).flatMap(({ sink, live }) => {
      const reason = holds.held.get(sink)
      return reason === undefined ? [] : live.map((planned) => ({ planned, reason }))
    })
  }

  function noteHistory(routes: readonly ObservedRoute[]): void {
    const samples = routes.map(({ summary: { zone, sink, lagSeconds }, delivered }) => {
      return { zone, sink, lagSeconds, delivered }
    })
    history.add(clock.now(), samples)
  }

  async function readNow() {
    const fleet = await readPage(observed)
    noteHistory(fleet.observed.routes)
    return fleet
  }

  const page = keepLatest(readNow, freshMs, clock)
  const follow = (zone: Zone) => new ZoneFollower(zone, { source: reading.source, clock, apiClock })
  const tail = new LiveTail({ clock, zones, follow })
  const readEvent = deadLetterReader(config)
  const parts = new AsyncDisposableStack()
  parts.defer(() => reading.close())
  parts.defer(() => shipping.close())
  parts.defer(() => schedule.stop())
  parts.defer(() => messenger.close())
  parts.defer(() => figuresRead)
  parts.defer(() => notified)
  parts.defer(() => stopped.abort(cancelled()))
  parts.defer(() => tail.stop())

  return {
    shipping,
    schedule,
    views: createStatusViews({
      version,
      history,
      fleet: page.read,
      store,
      readEvent,
      tail,
    }),
    async sample() {
      // All that a page shows of a large fleet takes more memory than the rest: it is kept while somebody looks.
      page.dropOld()
      noteHistory((await observe(observed)).routes)
    },
    async start() {
      await schedule.start()
      if (uploadScanning !== undefined || volumes !== undefined)
        figuresRead ??= keepFigures(figures, stopped.signal)
      if (places.size > 0) notified ??= keepNotified(notices, stopped.signal)
    },
    async beat(reasons, signal) {
      const { heartbeat } = config
      // Where the state does not answer, that is what several processes may say.
      const mayBeat = await backend.leads().catch(() => reasons.length > 0)
      if (heartbeat !== undefined && mayBeat) await messenger.beat(heartbeat.url, reasons, signal)
    },
    async drain(readRequestId, signal) {
      const readRequest = { id: readRequestId }
      await holds.refresh()
      await planner.remember()
      // The pumps of streams that cannot be reconciled get the same error, and only they are given up.
      await shipping.reconciler.turn(signal)
      const givenUp = await drain(
        {
          clock,
          places: { live: config.workers.streams, backfill: 0 },
          heartbeat: () => store.ledger.heartbeat(backend.holder),
          async plan() {
            turned('schedule')
            return (await planner.plan(readRequest)).filter(({ priority }) => priority === 'live')
          },
          pump,
        },
        signal,
      )
      // Once more, now that the API's time is known: records days that expired unread.
      await planner.remember()
      // A store that only cron feeds is pruned here or never. What was read is committed: a failure waits for the next
      // run.
      if (!signal.aborted)
        await keepHouse(signal)
          .then(() => removeDays(signal))
          .catch((error: unknown) => telemetry.emit({ name: 'UpkeepFailed', task: 'housekeeping', error }))
      return [...givenUp, ...(await heldStreams())]
    },
    observe: () => observe(observed),
    status: async () => statusOf(await readFleet(observed)),
    close: () => parts.disposeAsync(),
  }
}

/** None where they are not configured. */
function every<Of>(setting: { readonly everyMinutes: number } | undefined, targets: readonly Of[]) {
  return setting === undefined
    ? []
    : targets.map((target) => ({ ...target, everyMs: setting.everyMinutes * minuteMs }))
}
