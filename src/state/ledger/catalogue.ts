import type { Day } from '../../domain/day.ts'
import type { Gap, GapReason } from '../../domain/gap.ts'
import type { KnownSink } from '../../domain/known-sink.ts'
import type { Route } from '../../domain/stream.ts'
import type { FoundZone, ZoneList } from '../../domain/zone-list.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Records } from '../../ports/records.ts'
import type { LedgerDeps } from './holders.ts'
import { refuseRenaming, type Names } from './root.ts'
import { again, untilDecided } from './until-decided.ts'
import { changed, inParts, jsonOf, keysAtOnce, readAll, textOf, type Part } from './values.ts'

/** What is kept of a sink, by its stored name. */
export type SinkRecord = Omit<KnownSink, 'name'>

export type Lists = Omit<Catalogue, 'checkpoints'>

/** Gaps, routes, sinks, and the zones of accounts. None of them is listed of a sink that was replaced. */
export function createLists({ records, clock, root }: LedgerDeps): Lists {
  /** In parts of one write each; each part again if another process changed something of it. Returns how many changed. */
  async function write<Item extends { readonly sink: string }>(
    items: readonly Item[],
    partOf: (items: readonly Item[], names: Names) => Promise<Part>,
  ): Promise<number> {
    let count = 0
    for (const some of inParts(items, keysAtOnce))
      count += await untilDecided(clock, async () => {
        const nowUs = await root.refresh()
        const { names } = root
        for (const { sink } of some) refuseRenaming(names, sink, nowUs)
        const { when = [], put = [] } = await partOf(some, names)
        const { outcome } = await records.write({ when: [names.condition, ...when], put })
        return outcome === 'done' ? put.length : again
      })
    return count
  }

  async function list<Value>(
    collection: string,
    valueOf: (key: string, value: Uint8Array, names: Names) => Value | undefined,
  ): Promise<Value[]> {
    await root.refresh()
    const { names } = root
    return [...(await readAll(records, collection, (key, value) => valueOf(key, value, names))).values()]
  }

  return {
    async gaps() {
      const gaps = await list('gaps', gapOf)
      return gaps.sort(
        (a, b) => a.zone - b.zone || byText(a.sink, b.sink) || byText(a.day, b.day) || a.from - b.from,
      )
    },
    async addGaps(gaps) {
      await write(gaps, (some, names) => addedGaps(records, names, some))
    },
    acknowledgeGaps: (gaps, atMs) =>
      write(gaps, (some, names) => {
        const keys = some.map((gap) => gapKey(gap, names))
        const mark = (before?: string) => {
          const [to, recordedAt, acknowledgedAt, file] = JSON.parse(before ?? '[]') as GapValue
          const isOpen = before !== undefined && acknowledgedAt === null
          return isOpen ? JSON.stringify([to, recordedAt, atMs, file]) : undefined
        }
        return changed(records, 'gaps', keys, mark)
      }),
    routes: () => list('routes', routeOf),
    async rememberRoutes(routes) {
      await write(routes, (some, names) => {
        const keys = some.map(({ zone, sink }) => `${zone}/${names.storedOf(sink)}`)
        return changed(records, 'routes', keys, (before, index) => {
          const { firstDay, plannedAtMs } = some[index]!
          const known = before?.split(' ')[0] ?? firstDay
          return `${known < firstDay ? known : firstDay} ${plannedAtMs}`
        })
      })
    },
    async sinks() {
      const sinks = await list('sinks', (stored, value, names): KnownSink | undefined => {
        const name = names.sinkOf(stored)
        return name === undefined ? undefined : { name, ...jsonOf<SinkRecord>(value) }
      })
      return sinks.sort((a, b) => byText(a.name, b.name))
    },
    async rememberSinks(sinks) {
      const named = sinks.map((sink) => ({ ...sink, sink: sink.name }))
      await write(named, (some, names) => {
        const keys = some.map(({ name }) => names.storedOf(name))
        return changed(records, 'sinks', keys, (before, index) => {
          const { type, place } = some[index]!
          return JSON.stringify({ ...sinkOf(before), type, place })
        })
      })
    },
    async zoneLists() {
      const lists = await list('zoneLists', (account, value): ZoneList => {
        const [listedAtMs, zones] = jsonOf<[number, FoundZone[]]>(value)
        return { account, listedAtMs, zones }
      })
      return lists.sort((a, b) => byText(a.account, b.account))
    },
    async storeZoneList({ account, listedAtMs, zones }) {
      await records.write({ when: [], put: [['zoneLists', account, JSON.stringify([listedAtMs, zones])]] })
    },
  }
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Of a sink that the store does not know, too: it may be renamed. */
export function sinkOf(text: string | undefined): SinkRecord {
  return text === undefined ? { type: '', place: '', formerly: [] } : (JSON.parse(text) as SinkRecord)
}

/** Leaves a gap of the same zone, sink, day, start and reason as it is. */
export function addedGaps(records: Records, names: Names, gaps: readonly Gap[]): Promise<Part> {
  const keys = gaps.map((gap) => gapKey(gap, names))
  return changed(records, 'gaps', keys, (before, index) => {
    const { to, recordedAt, file } = gaps[index]!
    return before === undefined ? JSON.stringify([to, recordedAt, null, file] satisfies GapValue) : undefined
  })
}

function gapKey({ zone, day, from, reason, sink }: Gap, names: Names): string {
  return `${zone}/${day}/${from}/${reason}/${names.storedOf(sink)}`
}

/** End, instant of the record, that of the acknowledgement, and the copy of cut lines; null: none. */
type GapValue = [
  to: number,
  recordedAt: number,
  acknowledgedAt: number | null,
  file?: string | null | undefined,
]

export function gapOf(key: string, value: Uint8Array, names: Names): Gap | undefined {
  const [zone, day, from, reason, stored = ''] = key.split('/')
  const [to, recordedAt, acknowledgedAt, file] = JSON.parse(textOf(value)) as GapValue
  const sink = names.sinkOf(stored)
  if (sink === undefined) return undefined
  return {
    zone: Number(zone),
    sink,
    day: day as Day,
    from: Number(from),
    to,
    reason: reason as GapReason,
    recordedAt,
    ...(acknowledgedAt !== null && { acknowledgedAt }),
    ...(typeof file === 'string' && { file }),
  }
}

export function routeOf(key: string, value: Uint8Array, names: Names): Route | undefined {
  const [zone, stored = ''] = key.split('/')
  const [firstDay, plannedAt] = textOf(value).split(' ')
  const sink = names.sinkOf(stored)
  if (sink === undefined) return undefined
  return { zone: Number(zone), sink, firstDay: firstDay as Day, plannedAtMs: Number(plannedAt) }
}
