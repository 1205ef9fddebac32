import { healthOf } from '../../server/health.ts'
import { createServer, type Server } from '../../server/server.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { Engine } from './engine.ts'
import type { Runtime } from '../runtime.ts'
import { keepLatest } from './latest.ts'
import { createPageViews } from './page-views.ts'
import { readinessOf, type Readiness } from './readiness.ts'

/** What the HTTP server reads from a daemon. */
export interface DaemonState {
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
    readiness: keepLatest(() => readiness(daemon), readAgainMs, clock).read,
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

async function readiness(daemon: DaemonState): Promise<Readiness> {
  const engine = daemon.engine()
  const reason = daemon.notShipping()
  if (reason !== undefined || engine === undefined)
    return { ready: false, reasons: [reason ?? 'the process is starting'] }
  return readinessOf(() => engine.snapshot(), daemon.config().server.readyLagSeconds, daemon.storeTrouble())
}
