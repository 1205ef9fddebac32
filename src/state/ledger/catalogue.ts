import { isOpenGap, type Gap } from '../../domain/gap.ts'
import type { KnownSink } from '../../domain/known-sink.ts'
import type { Route } from '../../domain/stream.ts'
import type { ZoneList } from '../../domain/zone-list.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Records } from '../../ports/records.ts'
import type { LedgerDeps } from './streams.ts'
import { storedIn, type Names } from './root.ts'
import { byText, changed, inParts, jsonOf, keysAtOnce, readAll } from './values.ts'

// What is kept of each, without the sink, which may be renamed: it is in the key, by its stored name.
export type GapRecord = Omit<Gap, 'sink'>
type RouteRecord = Omit<Route, 'sink'>
export type SinkRecord = Omit<KnownSink, 'name'>

/** Gaps, routes, sinks, and the zones of accounts. None of them is listed of a sink that was replaced. */
export function createLists({ records, root }: LedgerDeps): Omit<Catalogue, 'checkpoints'> {
  /** In parts of one write each. Returns how many changed. */
  async function write<Item extends { readonly sink: string }>(
    items: readonly Item[],
    changeOf: (items: readonly Item[], names: Names) => ReturnType<typeof changed>,
  ): Promise<number> {
    let count = 0
    for (const some of inParts(items, keysAtOnce))
      count += await root.change(
        some.map(({ sink }) => sink),
        async (names) => {
          const write = await changeOf(some, names)
          return { result: write.put.length, write }
        },
      )
    return count
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what it wrote
  async function list<Record, Value>(
    collection: string,
    valueOf: (record: Record, sink: string) => Value,
  ): Promise<Value[]> {
    await root.refresh()
    const { names } = root
    const all = await readAll(records, collection, (key, value) => {
      const sink = names.sinkOf(storedIn(key))
      return sink === undefined ? undefined : valueOf(jsonOf<Record>(value), sink)
    })
    return [...all.values()]
  }

  return {
    async gaps() {
      const gaps = await list<GapRecord, Gap>('gaps', (record, sink) => ({ ...record, sink }))
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
        return changed<GapRecord>(records, 'gaps', keys, (before) =>
          before === undefined || !isOpenGap(before) ? undefined : { ...before, acknowledgedAt: atMs },
        )
      }),
    routes: () => list<RouteRecord, Route>('routes', (record, sink) => ({ ...record, sink })),
    async rememberRoutes(routes) {
      await write(routes, (some, names) => {
        const keys = some.map(({ zone, sink }) => `${zone}/${names.storedOf(sink)}`)
        return changed<RouteRecord>(records, 'routes', keys, (before, index) => {
          const { zone, firstDay, plannedAtMs } = some[index]!
          const isKnownEarlier = before !== undefined && before.firstDay < firstDay
          return { zone, firstDay: isKnownEarlier ? before.firstDay : firstDay, plannedAtMs }
        })
      })
    },
    async sinks() {
      const sinks = await list<SinkRecord, KnownSink>('sinks', (record, name) => ({ name, ...record }))
      return sinks.sort((a, b) => byText(a.name, b.name))
    },
    async rememberSinks(sinks) {
      const named = sinks.map((sink) => ({ ...sink, sink: sink.name }))
      await write(named, (some, names) => {
        const keys = some.map(({ name }) => names.storedOf(name))
        return changed<SinkRecord>(records, 'sinks', keys, (before, index) => {
          const { type, place } = some[index]!
          if (before?.type === type && before.place === place) return undefined
          return { formerly: before?.formerly ?? [], type, place }
        })
      })
    },
    async zoneLists() {
      const lists = await readAll(records, 'zoneLists', (_, value) => jsonOf<ZoneList>(value))
      return [...lists.values()].sort((a, b) => byText(a.account, b.account))
    },
    async storeZoneList(list) {
      await records.write({ when: [], put: [['zoneLists', list.account, JSON.stringify(list)]] })
    },
  }
}

/** Of a gap of the same zone, sink, day, start and reason, only more copies of cut lines are added. */
export function addedGaps(records: Records, names: Names, gaps: readonly Gap[]): ReturnType<typeof changed> {
  const keys = gaps.map((gap) => gapKey(gap, names))
  return changed<GapRecord>(records, 'gaps', keys, (before, index) => {
    const { sink: _, ...record } = gaps[index]!
    if (before === undefined) return record
    const known = before.files ?? []
    const more = (record.files ?? []).filter((file) => !known.includes(file))
    if (more.length === 0) return undefined
    // More lines were cut than a person has acknowledged.
    const { acknowledgedAt: __, ...open } = before
    return { ...open, files: [...known, ...more] }
  })
}

function gapKey({ zone, day, from, reason, sink }: Gap, names: Names): string {
  return `${zone}/${day}/${from}/${reason}/${names.storedOf(sink)}`
}
