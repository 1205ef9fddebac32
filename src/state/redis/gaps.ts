import type { Day } from '../../domain/day.ts'
import type { Gap, GapReason } from '../../domain/gap.ts'
import type { Route } from '../../domain/stream.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Keys } from './keys.ts'
import { numberOf } from './server/answer.ts'
import type { Link } from './server/link.ts'

/** The sink comes last, so that it can be renamed without parsing the rest. */
export function gapArguments({ zone, day, from, reason, sink, to, recordedAt }: Gap): [string, string] {
  return [`${zone}/${day}/${from}/${reason}/${sink}`, `${to} ${recordedAt}`]
}

function readGap(field: string, value: string): Gap {
  const [zone, day, from, reason, sink = ''] = field.split('/')
  const [to, recordedAt, acknowledgedAt] = value.split(' ')
  return {
    zone: Number(zone),
    sink,
    day: day as Day,
    from: Number(from),
    to: Number(to),
    reason: reason as GapReason,
    recordedAt: Number(recordedAt),
    ...(acknowledgedAt !== undefined && { acknowledgedAt: Number(acknowledgedAt) }),
  }
}

const gapsAtOnce = 1_000

export interface Gaps {
  readonly list: Catalogue['gaps']
  readonly add: Catalogue['addGaps']
  readonly acknowledge: Catalogue['acknowledgeGaps']
  prune(recordedBefore: number): Promise<void>
}

export function createGaps(link: Link, keys: Keys): Gaps {
  const all = () => link.run((client) => client.hgetall(keys.gaps))
  return {
    async list() {
      const gaps = Object.entries(await all()).map(([field, value]) => readGap(field, value))
      const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
      return gaps.sort(
        (a, b) => a.zone - b.zone || byText(a.sink, b.sink) || byText(a.day, b.day) || a.from - b.from,
      )
    },
    async add(gaps) {
      for (const gap of gaps) {
        const [field, value] = gapArguments(gap)
        await link.run((client) => client.hsetnx(keys.gaps, field, value))
      }
    },
    async acknowledge(gaps, atMs) {
      let marked = 0
      for (let from = 0; from < gaps.length; from += gapsAtOnce) {
        const fields = gaps.slice(from, from + gapsAtOnce).map((gap) => gapArguments(gap)[0])
        marked += numberOf(await link.script('acknowledge-gaps', [keys.gaps], [atMs, ...fields]))
      }
      return marked
    },
    async prune(recordedBefore) {
      const old = Object.entries(await all())
        .filter(([field, value]) => readGap(field, value).recordedAt < recordedBefore)
        .map(([field]) => field)
      for (let from = 0; from < old.length; from += gapsAtOnce)
        await link.run((client) => client.hdel(keys.gaps, ...old.slice(from, from + gapsAtOnce)))
    },
  }
}

export function createRoutes(link: Link, keys: Keys): Pick<Catalogue, 'routes' | 'rememberRoutes'> {
  return {
    async routes() {
      const routes = await link.run((client) => client.hgetall(keys.routes))
      return Object.entries(routes).map(([field, value]) => readRoute(field, value))
    },
    async rememberRoutes(routes) {
      const args = routes.flatMap(({ zone, sink, firstDay, plannedAtMs }) => [
        `${zone}/${sink}`,
        firstDay,
        plannedAtMs,
      ])
      if (args.length > 0) await link.script('remember-routes', [keys.routes], args)
    },
  }
}

function readRoute(field: string, value: string): Route {
  const [zone, sink = ''] = field.split('/')
  const [firstDay, plannedAt] = value.split(' ')
  return { zone: Number(zone), sink, firstDay: firstDay as Day, plannedAtMs: Number(plannedAt) }
}
