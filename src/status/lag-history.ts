import { routeKey, type Stream } from '../domain/stream.ts'

interface Sampled extends Pick<Stream, 'zone' | 'sink'> {
  readonly lagSeconds: number
  /** Delivered events of its live days. */
  readonly delivered: number
}

const slots = 60
/** 1 KB a route. */
const mostRoutes = 5_000

/** A ring of one place more than there are slots, for the rate of the oldest. */
const places = slots + 1
const emptyRing = () => new Float64Array(places).fill(NaN)

type Rings = Record<'lags' | 'delivered', Float64Array>

/** Lag and events a second of each route over the last sixty slots of time, in memory of a fixed size. */
export class LagHistory {
  readonly #slotMs: number
  /** When the last sample of each place was taken. */
  readonly #takenAtMs = emptyRing()
  #routes = new Map<string, Rings>()

  constructor(slotMs = 60_000) {
    this.#slotMs = slotMs
  }

  /** Routes that are not in the sample are forgotten. */
  add(atMs: number, routes: readonly Sampled[]): void {
    const slot = this.#slotOf(atMs)
    const place = slot % places
    const isNew = !this.#has(slot)
    this.#takenAtMs[place] = atMs
    const kept = new Map<string, Rings>()
    for (const { zone, sink, lagSeconds, delivered } of routes.slice(0, mostRoutes)) {
      const key = routeKey(zone, sink)
      const own = this.#routes.get(key) ?? { lags: emptyRing(), delivered: emptyRing() }
      const before = isNew ? 0 : own.lags[place]! || 0
      own.lags[place] = Math.max(before, lagSeconds)
      own.delivered[place] = delivered
      kept.set(key, own)
    }
    this.#routes = kept
  }

  /** A value for each slot, the current one last; null where nothing was measured. */
  of(zone: number, sink: string, nowMs: number) {
    const { lags = emptyRing(), delivered = emptyRing() } = this.#routes.get(routeKey(zone, sink)) ?? {}
    const last = this.#slotOf(nowMs)
    const each = Array.from({ length: slots }, (_, index) => last - slots + 1 + index)
    const known = (value: number) => (Number.isNaN(value) ? null : value)
    return {
      /** The longest of the slot. */
      lagSeconds: each.map((slot) => known(this.#has(slot) ? Math.round(lags[slot % places]!) : NaN)),
      eventsPerSecond: each.map((slot) => known(this.#rate(delivered, slot))),
    }
  }

  #slotOf(atMs: number): number {
    return Math.floor(atMs / this.#slotMs)
  }

  #has(slot: number): boolean {
    return this.#slotOf(this.#takenAtMs[slot % places]!) === slot
  }

  /** Since the last sample of the slot before. A day that left the status takes its events with it: no rate then. */
  #rate(delivered: Float64Array, slot: number): number {
    if (!this.#has(slot) || !this.#has(slot - 1)) return NaN
    const since = (of: Float64Array) => of[slot % places]! - of[(slot - 1) % places]!
    const events = since(delivered)
    return events >= 0 ? Math.round((events / since(this.#takenAtMs)) * 100_000) / 100 : NaN
  }
}
