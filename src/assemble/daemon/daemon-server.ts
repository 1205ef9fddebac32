import type { Config } from '../../config/schema.ts'
import { messageOf } from '../../domain/failure.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { keepLatest, type Latest } from '../../domain/promises.ts'
import type { StatusViews } from '../../domain/status/status-views.ts'
import { ZoneFollower } from '../../maintenance/read/follow.ts'
import { healthOf } from '../../server/routes.ts'
import { createServer, type Server } from '../../server/server.ts'
import type { Fleet } from '../../status/map.ts'
import { LagHistory } from '../../status/lag-history.ts'
import { LiveTail } from '../../status/live-tail.ts'
import { createStatusViews } from '../../status/views.ts'
import type { Runtime } from '../runtime.ts'
import { deadLetterReader } from '../dead-letters.ts'
import { version } from '../version.ts'
import type { Engine } from './engine.ts'

/** What the HTTP server reads from a daemon. */
interface DaemonState {
  readonly config: () => Config
  readonly engine: () => Engine | undefined
  /** Why nothing is shipped, whatever the state of the store; undefined while the daemon runs. */
  readonly notShipping: () => string | undefined
  readonly storeTrouble: () => string | undefined
  /** Time of the last turn of each loop that must keep running. */
  readonly turns: ReadonlyMap<string, number>
}

/** `/readyz` reads the store at most this often. */
const readAgainMs = 2_000

export function createDaemonServer(
  { server: { host, port, token } }: Config,
  daemon: DaemonState,
  runtime: Runtime,
): Server {
  const { clock, metrics, telemetry } = runtime
  const page = createPageViews(daemon.engine, runtime)
  const stopping = new AbortController()
  const readiness = async () => {
    const reasons = await notReady(daemon)
    return { ready: reasons.length === 0, reasons }
  }
  const server = createServer({
    host,
    port,
    ...(token !== undefined && { token }),
    metrics,
    telemetry,
    clock,
    health() {
      const loops = [...daemon.turns].map(([loop, turnedAtMs]) => ({ loop, turnedAtMs }))
      return healthOf(loops, daemon.config().poll.everySeconds, clock.monotonic())
    },
    readiness: keepLatest(readiness, readAgainMs, clock).read,
    status: async () => daemon.engine()?.status() ?? { starting: true },
    views: page.views,
  })
  return {
    async start() {
      const listening = await server.start()
      // Nothing waits for its end: a store that hangs must not delay the stop.
      void page.sample(stopping.signal)
      return listening
    },
    async stop() {
      stopping.abort()
      page.stop()
      await server.stop()
    },
  }
}

/** Why a process is not ready, in texts that contain nothing from the wire; none where it is. */
async function notReady(daemon: DaemonState): Promise<string[]> {
  const engine = daemon.engine()
  const reason = daemon.notShipping()
  if (reason !== undefined || engine === undefined) return [reason ?? 'the process is starting']
  const storeTrouble = daemon.storeTrouble()
  // A store that is full can still be read.
  if (storeTrouble !== undefined) return [`the store refuses writes: ${storeTrouble}`]
  let state: StateSnapshot
  try {
    state = await engine.snapshot()
  } catch (error) {
    return [`the store cannot be read: ${messageOf(error)}`]
  }
  const { readyLagSeconds } = daemon.config().server
  const reasons = state.refusedAccounts.map(
    (account) => `the API refuses the access key of account ${account}`,
  )
  const lagging = state.routes.filter(({ lagSeconds }) => lagSeconds > readyLagSeconds)
  const worst = lagging.toSorted((left, right) => right.lagSeconds - left.lagSeconds)[0]
  if (worst !== undefined) {
    const lag = `zone ${worst.zone} → ${worst.sink} has a lag of ${Math.round(worst.lagSeconds)} s`
    const others = lagging.length > 1 ? `, and so have ${lagging.length - 1} more` : ''
    reasons.push(`${lag} (more than ${readyLagSeconds} s)${others}`)
  }
  return reasons
}

interface PageViews {
  /** Undefined until the process has its store. */
  readonly views: () => StatusViews | undefined
  /** Takes samples for the history of the last hour until the signal aborts. Never rejects. */
  sample(signal: AbortSignal): Promise<void>
  /** Ends what reads the API for viewers. */
  stop(): void
}

/** Clients that ask within this time share one reading of the store. */
const freshMs = 2_000
const sampleEveryMs = 30_000

/** What the status page reads from a daemon. A reload keeps the history. */
function createPageViews(engine: () => Engine | undefined, { clock, apiClock }: Runtime): PageViews {
  const history = new LagHistory()
  let made:
    | {
        readonly of: Engine
        readonly fleet: Latest<Fleet>
        readonly tail: LiveTail
        readonly views: StatusViews
      }
    | undefined

  async function readNow(of: Engine): Promise<Fleet> {
    const fleet = await of.fleet()
    const samples = fleet.routes.map(({ planned: { zone, sink }, figures }) => ({
      zone: zone.id,
      sink,
      lagSeconds: figures.lagSeconds,
      delivered: figures.delivered,
    }))
    history.add(clock.now(), samples)
    return fleet
  }

  async function takeSample(of: Engine): Promise<void> {
    const { routes } = await of.snapshot()
    history.add(clock.now(), routes)
  }

  function tailOf({ shipping }: Engine): LiveTail {
    const deps = { source: shipping.reading.source, clock, apiClock }
    const zones = () => shipping.settings().zones
    return new LiveTail({ clock, zones, follow: (zone) => new ZoneFollower(zone, deps) })
  }

  function viewsOf(of: Engine, fleet: Latest<Fleet>, tail: LiveTail): StatusViews {
    const { store } = of.shipping.deps
    return createStatusViews({
      version,
      history,
      fleet: fleet.read,
      minutes: (stream) => store.ledger.minutes(stream),
      auditOf: (stream) => store.ledger.auditOf(stream),
      deadLetters: store.deadLetters,
      readEvent: deadLetterReader(of.config),
      tail,
    })
  }

  return {
    views() {
      const of = engine()
      if (of === undefined) return undefined
      if (made?.of !== of) {
        made?.tail.stop()
        const fleet = keepLatest(() => readNow(of), freshMs, clock)
        const tail = tailOf(of)
        made = { of, fleet, tail, views: viewsOf(of, fleet, tail) }
      }
      return made.views
    },
    stop: () => made?.tail.stop(),
    async sample(signal) {
      while (!signal.aborted) {
        await clock.sleep(sampleEveryMs, signal).catch(() => undefined)
        const of = engine()
        // All that a page shows of a large fleet takes more memory than the rest: it is kept while somebody looks.
        made?.fleet.dropOld()
        // While the store does not answer, the history has a hole.
        if (of !== undefined && !signal.aborted) await takeSample(of).catch(() => undefined)
      }
    },
  }
}
