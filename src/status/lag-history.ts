import { routeKey, type ZoneAndSink } from '../domain/stream.ts'

interface Sampled extends ZoneAndSink {
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

export type LagHistory = ReturnType<typeof createLagHistory>

/** Lag and events a second of each route over the last sixty slots of time, in memory of a fixed size. */
export function createLagHistory(slotMs = 60_000) {
  /** When the last sample of each place was taken. */
  const takenAtMs = emptyRing()
  let kept = new Map<string, Rings>()
  const slotOf = (atMs: number) => Math.floor(atMs / slotMs)
  const has = (slot: number) => slotOf(takenAtMs[slot % places]!) === slot

  /** Since the last sample of the slot before. A day that left the status takes its events with it: no rate then. */
  function rateOf(delivered: Float64Array, slot: number): number {
    if (!has(slot) || !has(slot - 1)) return NaN
    const since = (of: Float64Array) => of[slot % places]! - of[(slot - 1) % places]!
    const events = since(delivered)
    return events >= 0 ? Math.round((events / since(takenAtMs)) * 100_000) / 100 : NaN
  }

  return {
    /** Routes that are not in the sample are forgotten. */
    add(atMs: number, routes: readonly Sampled[]): void {
      const slot = slotOf(atMs)
      const place = slot % places
      const isNew = !has(slot)
      takenAtMs[place] = atMs
      const sampled = new Map<string, Rings>()
      for (const { zone, sink, lagSeconds, delivered } of routes.slice(0, mostRoutes)) {
        const key = routeKey(zone, sink)
        const own = kept.get(key) ?? { lags: emptyRing(), delivered: emptyRing() }
        const before = isNew ? 0 : own.lags[place]! || 0
        own.lags[place] = Math.max(before, lagSeconds)
        own.delivered[place] = delivered
        sampled.set(key, own)
      }
      kept = sampled
    },
    /** A value for each slot, the current one last; null where nothing was measured. */
    of(zone: number, sink: string, nowMs: number) {
      const { lags = emptyRing(), delivered = emptyRing() } = kept.get(routeKey(zone, sink)) ?? {}
      const last = slotOf(nowMs)
      const each = Array.from({ length: slots }, (_, index) => last - slots + 1 + index)
      const orNull = (value: number) => (Number.isNaN(value) ? null : value)
      return {
        /** The longest of the slot. */
        lagSeconds: each.map((slot) => orNull(has(slot) ? Math.round(lags[slot % places]!) : NaN)),
        eventsPerSecond: each.map((slot) => orNull(rateOf(delivered, slot))),
      }
    },
  }
}
