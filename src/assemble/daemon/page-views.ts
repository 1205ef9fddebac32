import type { StatusViews } from '../../domain/status/status-views.ts'
import { ZoneFollower } from '../../maintenance/read/follow-zone.ts'
import { LagHistory } from '../../status/views/lag-history.ts'
import { LiveTail } from '../../status/views/live-tail.ts'
import { createStatusViews } from '../../status/views/status-views.ts'
import type { Fleet } from '../../status/views/fleet.ts'
import type { Runtime } from '../runtime.ts'
import { deadLetterReader } from '../tasks/dead-letters.ts'
import { version } from '../version.ts'
import type { Engine } from './engine.ts'
import { keepLatest, type Latest } from './latest.ts'

export interface PageViews {
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
export function createPageViews(engine: () => Engine | undefined, { clock, apiClock }: Runtime): PageViews {
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
    const { store, policy } = of.shipping.deps
    return createStatusViews({
      version,
      history,
      fleet: fleet.read,
      policy,
      nowOf: apiClock.now,
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
