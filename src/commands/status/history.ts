import type { RouteStatus, Status } from '../../domain/status/status.ts'
import type { Column } from '../terminal/columns.ts'
import { sparkline } from '../terminal/sparkline.ts'

/** What `--watch` remembers of each route between two looks. */
export interface StatusHistory {
  add(status: Pick<Status, 'at' | 'routes'>): void
  /** Events a second and the lag of the last ten minutes, by these routes. */
  columns(routes: readonly RouteStatus[]): Column[]
}

interface Sample {
  readonly atMs: number
  readonly lagSeconds: number
  readonly delivered: number
}

const keptMs = 600_000
const rateMs = 10_000
const bars = 20
/** Bars are as high as the longest lag, but of a healthy route low. */
const leastHighestSeconds = 120

export function createHistory(): StatusHistory {
  const samples = new Map<string, Sample[]>()
  return {
    add({ at, routes }) {
      const atMs = Date.parse(at)
      for (const route of routes) {
        let delivered = 0
        for (const day of route.days) delivered += day.delivered
        const own = samples.get(keyOf(route)) ?? []
        const kept = own.filter((sample) => sample.atMs > atMs - keptMs && sample.atMs < atMs)
        samples.set(keyOf(route), [...kept, { atMs, lagSeconds: route.lagSeconds, delivered }])
      }
    },
    columns(routes) {
      const own = routes.map((route) => samples.get(keyOf(route)) ?? [])
      return [
        { title: 'events/s', cells: own.map(rateText), align: 'right' },
        { title: 'lag, last 10 min', cells: own.map(lagBars) },
      ]
    },
  }
}

function keyOf({ zone, sink }: Pick<RouteStatus, 'zone' | 'sink'>): string {
  return `${zone} ${sink}`
}

/** Over the last seconds. A day that left the status takes its events with it: no rate is below 0. */
function rateText(samples: readonly Sample[]): string {
  const last = samples.at(-1)
  const first = samples.find(({ atMs }) => last !== undefined && atMs >= last.atMs - rateMs)
  if (last === undefined || first === undefined || first === last) return '…'
  const rate = Math.max(0, last.delivered - first.delivered) / ((last.atMs - first.atMs) / 1000)
  return rate > 0 && rate < 10 ? rate.toFixed(1) : String(Math.round(rate))
}

/** The longest lag of each part of the ten minutes, the newest to the right. */
function lagBars(samples: readonly Sample[]): string {
  const last = samples.at(-1)
  if (last === undefined) return ''
  const partMs = keptMs / bars
  const highest = Array.from({ length: bars }, (_, index) => {
    const age = bars - 1 - index
    const own = samples.filter(({ atMs }) => Math.floor((last.atMs - atMs) / partMs) === age)
    return own.length === 0 ? undefined : Math.max(...own.map(({ lagSeconds }) => lagSeconds))
  })
  const most = Math.max(leastHighestSeconds, ...highest.map((seconds) => seconds ?? 0))
  return sparkline(highest, most)
}
