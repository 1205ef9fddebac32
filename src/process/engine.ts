import { setImmediate } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import { cancelled, isFailure, type Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import type { Zone } from '../domain/stream.ts'
import type { Secret } from '../domain/text/secret.ts'
import { keepLatest } from '../domain/promises.ts'
import type { Observation } from '../domain/observation.ts'
import { createSinkReconciler } from '../upkeep/reconcile-sinks.ts'
import { createHousekeeping, createDayRemoval } from '../upkeep/housekeep.ts'
import { readFleet, statusOf } from '../status/fleet.ts'
import { observe, StreamTally } from '../status/observe.ts'
import { createFollower } from '../days/follow.ts'
import type { LagHistory } from '../status/lag-history.ts'
import { createLiveTail } from '../status/live-tail.ts'
import { readPage } from '../status/map.ts'
import { createStatusViews } from '../status/views.ts'
import type { Schedule } from '../ports/process.ts'
import { drain, type GivenUp } from '../schedule/local/drain.ts'
import { createTickTracing } from '../telemetry/tracing.ts'
import { keepNotified } from '../upkeep/notices.ts'
import { createMessenger } from '../notify/post.ts'
import { keepFigures } from '../upkeep/figures.ts'
import { readFigures } from '../shield/figures.ts'
import type { Backend } from './backend.ts'
import { deadLetterReader } from '../assemble/dead-letter-events.ts'
import { watchDisks } from '../upkeep/sink-space.ts'
import { SinkHolds } from '../assemble/held-sinks.ts'
import type { LoggedRuntime } from '../assemble/logged-runtime.ts'
import { isRetired } from '../discovery/with-zones.ts'
import type { ZoneDirectory } from '../discovery/zone-directory.ts'
import { workersOn } from '../assemble/state.ts'
import { version } from '../assemble/version.ts'
import { createReading } from '../assemble/reading.ts'
import { createShipping } from '../assemble/shipping.ts'

export type Engine = ReturnType<typeof createEngine>

interface EngineOptions {
  readonly runtime: LoggedRuntime
  readonly backend: Backend
  /** Where accounts discover their zones, these change while the engine runs. */
  readonly directory: Pick<ZoneDirectory, 'fill' | 'read'>
  /** Called at each turn of a loop that must keep running. */
  readonly turned: (loop: string) => void
  /** Called when the reader of stdout closed the pipe: nothing can be shipped there any more. */
  readonly sinkGone: (failure: Failure) => void
  /** Why the process is not ready, for the heartbeat; none where it is. */
  readonly notReady: () => Promise<readonly string[]>
  /** Of the last hour; a reload keeps it. */
  readonly history: LagHistory
}

/** Viewers who ask within this time share one reading of the store. */
const freshMs = 2_000
const sampleEveryMs = 30_000
const minuteMs = 60_000

/** Schedules and ships the streams of one configuration, over one store. */
export function createEngine(config: Config, options: EngineOptions) {
  const { runtime, backend, directory, turned, sinkGone, notReady, history } = options
  const { store } = backend
  const { clock, apiClock, telemetry } = runtime
  const { keepDays } = config.state
  const places = { live: config.workers.streams, backfill: config.workers.backfillStreams }
  const zones = () => directory.fill(config).zones
  const holds = new SinkHolds(config, store, runtime)
  /** Closed in reverse order. */
  const parts = new AsyncDisposableStack()
  const reading = parts.use(createReading(config, runtime, backend.limitsOf))
  const over = { ...backend, reading, zones, held: () => holds.held }
  const shipping = parts.use(createShipping(config, runtime, over))
  const { planner, settings, deps, sinks } = shipping
  const reconciler = createSinkReconciler({ ...deps, zones, sinks })
  const keepHouse = createHousekeeping({ store, apiClock, settings, keepDays })
  const removeDays = createDayRemoval({ ...deps, settings, sinks })
  const active = new StreamTally()
  const messenger = createMessenger(clock, version)
  const stopped = new AbortController()
  const { signal } = stopped
  /** What runs beside the schedule. */
  const beside: Promise<void>[] = []

  async function pump(planned: PlannedStream, signal: AbortSignal) {
    active.add(planned.priority, planned.stream.sink, 1)
    try {
      const failure = await reconciler.pumping(planned.stream, () => shipping.pump(planned, signal))
      if (isFailure(failure, 'sink_gone')) sinkGone(failure)
      return failure
    } finally {
      active.add(planned.priority, planned.stream.sink, -1)
    }
  }

  const startSchedule = () =>
    backend.startSchedule(config, {
      clock,
      telemetry,
      places,
      tracing: createTickTracing(clock, version),
      now: ({ zone }) => apiClock.now(zone.account),
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
        if (!zones().some(({ id }) => id === stream.zone)) await directory.read()
        return planner.planned(stream, priority)
      },
      housekeep: keepHouse,
      // By the processes that reach the files.
      async reconcile(signal) {
        await reconciler.turn(signal)
        await removeDays(signal)
      },
      reconnected: reconciler.allAgain,
    })
  let schedule: Schedule | undefined
  const observed = {
    ...deps,
    planner,
    settings,
    active,
    keepDays,
    workers: () => workersOn(config, store, clock),
    isRetired: (zone: number) => isRetired(config, zone),
    turn: setImmediate,
    queued: () => schedule?.queues?.(),
    async pauses() {
      const all = config.accounts.map(async ({ name }) => {
        const untilMs = await reading.gateOf(name).pausedUntil()
        return untilMs === undefined ? [] : [{ account: name, until: new Date(untilMs).toISOString() }]
      })
      return (await Promise.all(all)).flat()
    },
  }

  function keepFiguresRead(): Promise<void> {
    const { uploadScanning, volumes } = config.metrics
    const scanEveryMs = (uploadScanning?.everyMinutes ?? 0) * minuteMs
    const lookEveryMs = (volumes?.everyMinutes ?? 0) * minuteMs
    const scanned = () => (uploadScanning === undefined ? [] : zones())
    const apps = volumes?.apps ?? []
    const targets = () => [
      ...scanned().map(({ id, account }) => ({ of: { zone: id }, account, everyMs: scanEveryMs })),
      ...apps.map(({ id, account }) => ({ of: { app: id }, account, everyMs: lookEveryMs })),
    ]
    return keepFigures(
      {
        clock,
        telemetry,
        mayRead: backend.leads,
        targets,
        read: ({ of, account }, signal) => readFigures(reading.clientOf(account), of, signal),
      },
      signal,
    )
  }

  function keepPlacesNotified(): Promise<void> {
    const places = new Map(config.notify.map((place) => [place.name, place]))
    const fullDisks = watchDisks(config, clock)
    return keepNotified(
      {
        clock,
        telemetry,
        store,
        mayTell: backend.leads,
        problems: async () => [...(await fullDisks()), ...(await readFleet(observed)).status.problems],
        places: [...places.keys()],
        post: (name, notice, signal) => messenger.tell(places.get(name)!, notice, store.id, signal),
      },
      signal,
    )
  }

  /** Says that all is well, or why not, to a monitor that notices when nobody says anything. */
  async function beat(url: Secret): Promise<void> {
    const reasons = await notReady()
    // Where the state does not answer, that is what several processes may say.
    if (!(await backend.leads().catch(() => reasons.length > 0))) return
    try {
      await messenger.beat(url, reasons, signal)
      telemetry.emit({ name: 'HeartbeatSent' })
    } catch (failure) {
      if (signal.aborted) return
      if (isFailure(failure)) telemetry.emit({ name: 'HeartbeatFailed', failure })
      else telemetry.emit({ name: 'UpkeepFailed', task: 'notices', error: failure })
    }
  }

  /** Until the engine closes. Never rejects. */
  async function every(ms: number, step: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(ms, signal).catch(() => undefined)
      if (!signal.aborted) await step().catch(() => undefined)
    }
  }

  async function heldStreams(): Promise<GivenUp[]> {
    if (holds.held.size === 0) return []
    return (await planner.routes()).flatMap(({ sink, live }) => {
      const reason = holds.held.get(sink)
      return reason === undefined ? [] : live.map((planned) => ({ planned, reason }))
    })
  }

  const noteHistory = ({ routes }: Observation) =>
    history.add(
      clock.now(),
      routes.map(({ summary, delivered }) => ({ ...summary, delivered })),
    )

  async function readNow() {
    const fleet = await readPage(observed)
    noteHistory(fleet.observed)
    return fleet
  }

  const page = keepLatest(readNow, freshMs, clock)

  /** While the store does not answer, the history has a hole. */
  async function sample(): Promise<void> {
    // All that a page shows of a large fleet takes more memory than the rest: it is kept while somebody looks.
    page.dropOld()
    noteHistory(await observe(observed))
  }

  const follow = (zone: Zone) => createFollower(zone, { source: reading.source, clock, apiClock })
  const tail = createLiveTail({ clock, zones, follow })
  const readEvent = deadLetterReader(config)
  parts.defer(() => schedule?.stop())
  parts.defer(() => messenger.close())
  parts.defer(async () => void (await Promise.all(beside)))
  parts.defer(() => stopped.abort(cancelled()))
  parts.defer(() => tail.stop())

  return {
    shipping,
    /** What the status page shows. */
    views: createStatusViews({ version, history, fleet: page.read, store, readEvent, tail }),
    /** Starts the schedule, and what runs beside it. */
    start(): void {
      schedule = startSchedule()
      const { heartbeat, metrics, notify } = config
      if (metrics.uploadScanning !== undefined || metrics.volumes !== undefined)
        beside.push(keepFiguresRead())
      if (notify.length > 0) beside.push(keepPlacesNotified())
      if (heartbeat !== undefined)
        beside.push(every(heartbeat.everyMinutes * minuteMs, () => beat(heartbeat.url)))
      // Nothing waits for its end: a store that hangs must not delay the stop.
      void every(sampleEveryMs, sample)
    },
    /** Pumps every planned stream to its end once. Returns the streams given up. */
    async drain(readRequestId: string, signal: AbortSignal): Promise<GivenUp[]> {
      const readRequest = { id: readRequestId }
      await holds.refresh()
      await planner.remember()
      // The pumps of streams that cannot be reconciled get the same error, and only they are given up.
      await reconciler.turn(signal)
      const givenUp = await drain(
        {
          clock,
          places: { ...places, backfill: 0 },
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
    /** Stops the schedule, then closes sinks and clients. Idempotent. */
    close: () => parts.disposeAsync(),
  }
}
