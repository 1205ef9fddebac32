import type { MapRoute } from '../domain/status/status-views.ts'
import type { RouteState } from '../domain/plan/snapshot.ts'
import { routeKey } from '../domain/stream.ts'

type Sampled = Pick<RouteState, 'zone' | 'sink' | 'lagSeconds' | 'delivered'>

/** A slot for each minute; NaN where nothing was measured. */
interface Samples {
  readonly lags: Float32Array
  readonly delivered: Float64Array
}

const minutes = 60
/** 600 bytes a route. */
const mostRoutes = 5_000

/** Lag and events a second of each route over the last hour, in memory of a fixed size. */
export class LagHistory {
  /** Of each slot: its minute since the epoch, and when its last sample was taken. */
  readonly #minutes = new Float64Array(minutes + 1)
  readonly #takenAtMs = new Float64Array(minutes + 1)
  #routes = new Map<string, Samples>()

  /** Routes that are not in the sample are forgotten. */
  add(atMs: number, routes: readonly Sampled[]): void {
    const minute = Math.floor(atMs / 60_000)
    const slot = slotOf(minute)
    const isNew = this.#minutes[slot] !== minute
    this.#minutes[slot] = minute
    this.#takenAtMs[slot] = atMs
    const kept = new Map<string, Samples>()
    for (const route of routes.slice(0, mostRoutes)) {
      const key = routeKey(route.zone, route.sink)
      const own = this.#routes.get(key) ?? {
        lags: new Float32Array(minutes + 1).fill(NaN),
        delivered: new Float64Array(minutes + 1).fill(NaN),
      }
      const before = isNew ? 0 : own.lags[slot]!
      own.lags[slot] = Math.max(Number.isNaN(before) ? 0 : before, route.lagSeconds)
      own.delivered[slot] = route.delivered
      kept.set(key, own)
    }
    this.#routes = kept
  }

  of(zone: number, sink: string, nowMs: number): MapRoute['history'] {
    const own = this.#routes.get(routeKey(zone, sink))
    const last = Math.floor(nowMs / 60_000)
    const each = Array.from({ length: minutes }, (_, index) => last - minutes + 1 + index)
    return {
      lagSeconds: each.map((minute) => {
        const lag = this.#holds(minute) ? own?.lags[slotOf(minute)] : undefined
        return lag === undefined || Number.isNaN(lag) ? null : Math.round(lag)
      }),
      eventsPerSecond: each.map((minute) => (own === undefined ? null : this.#rate(own.delivered, minute))),
    }
  }

  /** A day that left the status takes its events with it: such a minute has no rate. */
  #rate(delivered: Float64Array, minute: number): number | null {
    if (!this.#holds(minute) || !this.#holds(minute - 1)) return null
    const [slot, before] = [slotOf(minute), slotOf(minute - 1)]
    const events = delivered[slot]! - delivered[before]!
    const seconds = (this.#takenAtMs[slot]! - this.#takenAtMs[before]!) / 1000
    if (!(events >= 0) || seconds <= 0) return null
    return Math.round((events / seconds) * 100) / 100
  }

  #holds(minute: number): boolean {
    return this.#minutes[slotOf(minute)] === minute
  }
}

function slotOf(minute: number): number {
  return minute % (minutes + 1)
}
