import type { MapRoute } from '../domain/status/status-views.ts'
import { routeKey, type Stream } from '../domain/stream.ts'

interface Sampled extends Pick<Stream, 'zone' | 'sink'> {
  readonly lagSeconds: number
  /** Delivered events of its live days. */
  readonly delivered: number
}

/** A value for each slot; NaN where nothing was measured. */
interface Samples {
  readonly lags: Float32Array
  readonly delivered: Float64Array
}

const slots = 60
/** 600 bytes a route. */
const mostRoutes = 5_000

/** Lag and events a second of each route over the last sixty slots of time, in memory of a fixed size. */
export class LagHistory {
  readonly #slotMs: number
  /** Of each place in the ring: its slot since the epoch, and when its last sample was taken. */
  readonly #held = new Float64Array(slots + 1)
  readonly #takenAtMs = new Float64Array(slots + 1)
  #routes = new Map<string, Samples>()

  constructor(slotMs = 60_000) {
    this.#slotMs = slotMs
  }

  /** Routes that are not in the sample are forgotten. */
  add(atMs: number, routes: readonly Sampled[]): void {
    const slot = Math.floor(atMs / this.#slotMs)
    const place = placeOf(slot)
    const isNew = this.#held[place] !== slot
    this.#held[place] = slot
    this.#takenAtMs[place] = atMs
    const kept = new Map<string, Samples>()
    for (const route of routes.slice(0, mostRoutes)) {
      const key = routeKey(route.zone, route.sink)
      const own = this.#routes.get(key) ?? {
        lags: new Float32Array(slots + 1).fill(NaN),
        delivered: new Float64Array(slots + 1).fill(NaN),
      }
      const before = isNew ? NaN : own.lags[place]!
      own.lags[place] = Number.isNaN(before) ? route.lagSeconds : Math.max(before, route.lagSeconds)
      own.delivered[place] = route.delivered
      kept.set(key, own)
    }
    this.#routes = kept
  }

  of(zone: number, sink: string, nowMs: number): MapRoute['history'] {
    const own = this.#routes.get(routeKey(zone, sink))
    const last = Math.floor(nowMs / this.#slotMs)
    const each = Array.from({ length: slots }, (_, index) => last - slots + 1 + index)
    return {
      lagSeconds: each.map((slot) => {
        const lag = this.#held[placeOf(slot)] === slot ? own?.lags[placeOf(slot)] : undefined
        return lag === undefined || Number.isNaN(lag) ? null : Math.round(lag)
      }),
      eventsPerSecond: each.map((slot) => (own === undefined ? null : this.#rate(own.delivered, slot))),
    }
  }

  /** Since the last sample of the slot before. A day that left the status takes its events with it: no rate then. */
  #rate(delivered: Float64Array, slot: number): number | null {
    const [now, before] = [placeOf(slot), placeOf(slot - 1)]
    if (this.#held[now] !== slot || this.#held[before] !== slot - 1) return null
    const events = delivered[now]! - delivered[before]!
    const seconds = (this.#takenAtMs[now]! - this.#takenAtMs[before]!) / 1000
    if (!(events >= 0) || seconds <= 0) return null
    return Math.round((events / seconds) * 100) / 100
  }
}

function placeOf(slot: number): number {
  return slot % (slots + 1)
}
