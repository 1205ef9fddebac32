import { setImmediate } from 'node:timers/promises'
import type { AuditRecord } from '../../domain/audit-report.ts'
import type { DayRange } from '../../domain/day.ts'
import type { RememberedSink } from '../../domain/remembered-sink.ts'
import { createInTurn } from '../../domain/promises.ts'
import { isOpenGap, type Gap, type Route } from '../../domain/stream.ts'
import type { ZoneList } from '../../domain/zone-list.ts'
import type { NoticedAt } from '../../domain/notices.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Changes, TrackedCollection } from '../../ports/records.ts'
import {
  byText,
  inParts,
  jsonOf,
  keysAtOnce,
  storedIn,
  streamOf,
  type Names,
  type PartialWrite,
  type Root,
} from './root.ts'
import { checkpointOf } from './streams.ts'

// What is kept of each, without the sink, which may be renamed: it is in the key, by its stored name.
export type GapRecord = Omit<Gap, 'sink'>
type RouteRecord = Omit<Route, 'sink' | 'pruned'>
export type SinkRecord = Omit<RememberedSink, 'name'>

const noMark: readonly string[] = Object.freeze([])

/** Checkpoints, gaps, routes, sinks, and the zones of accounts. None of them is listed of a sink that was replaced. */
export function createCatalogue(root: Root): Catalogue {
  const { records } = root
  const inTurn = createInTurn()
  // Without their marks, which take more than the rest and serve a pump only.
  const mirror = createMirror(root, 'checkpoints', (key, value, names) => {
    const stream = streamOf(key, names)
    return stream && { ...checkpointOf(stream, value), mark: noMark }
  })

  /** Changes a record for each item, in parts of one write each. Returns how many changed. */
  async function change<Item extends { readonly sink: string }, Value>(
    collection: string,
    items: readonly Item[],
    keyOf: (item: Item, names: Names) => string,
    after: (before: Value | undefined, item: Item) => Value | undefined,
  ): Promise<number> {
    let count = 0
    for (const some of inParts(items, keysAtOnce)) {
      const sinks = some.map(({ sink }) => sink)
      count += await root.change(sinks, async (names) => {
        const byKey = new Map(some.map((item) => [keyOf(item, names), item]))
        const write = await root.changed(collection, byKey, after)
        return { result: write.put.length, write }
      })
    }
    return count
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what it wrote
  async function list<Record, Value>(
    collection: string,
    valueOf: (record: Record, sink: string, key: string) => Value,
  ): Promise<Value[]> {
    await root.refresh()
    const { names } = root
    const all = await root.readAll(collection, (key, value) => {
      const sink = names.sinkOf(storedIn(key))
      return sink === undefined ? undefined : valueOf(jsonOf<Record>(value), sink, key)
    })
    return [...all.values()]
  }

  return {
    checkpoints: () =>
      inTurn(async () => {
        await root.refresh()
        await mirror.update(root.names)
        return mirror.entries().map(([, checkpoint]) => checkpoint)
      }),
    async gaps() {
      const gaps = await list<GapRecord, Gap>('gaps', (record, sink) => ({ ...record, sink }))
      return gaps.sort(
        (a, b) => a.zone - b.zone || byText(a.sink, b.sink) || byText(a.day, b.day) || a.from - b.from,
      )
    },
    async addGaps(gaps) {
      await change('gaps', gaps, gapKey, withGap)
    },
    acknowledgeGaps: (gaps, atMs) =>
      change<Gap, GapRecord>('gaps', gaps, gapKey, (before) =>
        before === undefined || !isOpenGap(before) ? undefined : { ...before, acknowledgedAt: atMs },
      ),
    async differences() {
      await root.refresh()
      const { names } = root
      const all = await root.readAll('differences', (key, value) => {
        const stream = streamOf(key, names)
        return stream && { stream, ...jsonOf<AuditRecord>(value) }
      })
      return [...all.values()]
    },
    async routes() {
      const pruned = await root.readAll('pruned', (_, value) => jsonOf<DayRange[]>(value))
      return list<RouteRecord, Route>('routes', (record, sink, key) => {
        const days = pruned.get(key)
        return { ...record, sink, ...(days !== undefined && { pruned: days }) }
      })
    },
    async rememberRoutes(routes) {
      await change<Route, RouteRecord>(
        'routes',
        routes,
        ({ zone, sink }, names) => `${zone}/${names.storedOf(sink)}`,
        (before, { zone, firstDay, plannedAtMs }) => {
          const isKnownEarlier = before !== undefined && before.firstDay < firstDay
          return { zone, firstDay: isKnownEarlier ? before.firstDay : firstDay, plannedAtMs }
        },
      )
    },
    async sinks() {
      const sinks = await list<SinkRecord, RememberedSink>('sinks', (record, name) => ({ name, ...record }))
      return sinks.sort((a, b) => byText(a.name, b.name))
    },
    async rememberSinks(sinks) {
      const named = sinks.map((sink) => ({ ...sink, sink: sink.name }))
      await change<(typeof named)[number], SinkRecord>(
        'sinks',
        named,
        ({ name }, names) => names.storedOf(name),
        (before, { type, place }) =>
          before?.type === type && before.place === place
            ? undefined
            : { formerly: before?.formerly ?? [], type, place },
      )
    },
    async zoneLists() {
      const lists = await root.readAll('zoneLists', (_, value) => jsonOf<ZoneList>(value))
      return [...lists.values()].sort((a, b) => byText(a.account, b.account))
    },
    async storeZoneList(list) {
      await records.write({ when: [], put: [['zoneLists', list.account, JSON.stringify(list)]] })
    },
    ...createNoticed(root),
  }
}

function createNoticed(root: Root): Pick<Catalogue, 'noticed' | 'storeNoticed'> {
  return {
    async noticed() {
      const all = await root.readAll('noticed', (_, value) => jsonOf<NoticedAt>(value))
      return [...all.values()]
    },
    storeNoticed(noticed, before) {
      const key = noticed.place
      const is = before.known.length === 0 ? undefined : JSON.stringify(before)
      const when = [{ collection: 'noticed', key, is }]
      if (noticed.known.length === 0) return root.records.write({ when, remove: [['noticed', key]] })
      return root.records.write({ when, put: [['noticed', key, JSON.stringify(noticed)]] })
    },
  }
}

/** What a commit adds. */
export function addedGaps(root: Root, names: Names, gaps: readonly Gap[]): Promise<PartialWrite> {
  return root.changed('gaps', new Map(gaps.map((gap) => [gapKey(gap, names), gap])), withGap)
}

/**
 * Of a gap of the same zone, sink, day, start and reason, only more copies of cut lines are added, or that the day was
 * read; one that has files stays as it is then. After that, what is lost anew is a gap anew.
 */
function withGap(before: GapRecord | undefined, added: Gap): GapRecord | undefined {
  const { sink: _, ...gap } = added
  const isOver = before?.readAt !== undefined
  if (gap.readAt !== undefined)
    return before === undefined || isOver || before.files !== undefined
      ? undefined
      : { ...before, readAt: gap.readAt }
  if (before === undefined || isOver) return gap
  const named = before.files ?? []
  const more = (gap.files ?? []).filter((file) => !named.includes(file))
  if (more.length === 0) return undefined
  // More lines were cut than a person has acknowledged.
  const { acknowledgedAt: __, ...open } = before
  return { ...open, files: [...named, ...more] }
}

function gapKey({ zone, day, from, reason, sink }: Gap, names: Names): string {
  return `${zone}/${day}/${from}/${reason}/${names.storedOf(sink)}`
}

/** Their values are parsed in one step of the event loop, in about 5 ms. */
const readAtOnce = 64

/** A tracked collection in memory; what has not changed is the same object as before. */
export function createMirror<Value extends object>(
  root: Root,
  collection: TrackedCollection,
  valueOf: (key: string, value: Uint8Array, names: Names) => Value | undefined,
) {
  /** `number`: of its latest put. */
  const kept = new Map<string, { readonly number: number; readonly value: Value | undefined }>()
  let latest = 0
  /** Of the numbers of all that is known. */
  let sum = 0n
  let version = 0
  let readUnder: Names | undefined

  function set(key: string, number: number, value?: Value): void {
    sum += BigInt(number) - BigInt(kept.get(key)?.number ?? 0)
    kept.set(key, { number, value })
    version++
  }

  function keep(keys: ReadonlySet<string>): void {
    for (const key of new Set(kept.keys()).difference(keys)) {
      set(key, 0)
      kept.delete(key)
    }
  }

  async function read(changed: Changes['changed'], names: Names): Promise<void> {
    for (const [at, some] of [...inParts(changed, readAtOnce)].entries()) {
      if (at > 0) await setImmediate()
      const keys = some.map(([key]) => key)
      const values = await root.readMany(collection, keys)
      for (const [key, number] of some) {
        const value = values.get(key)
        set(key, number, value && valueOf(key, value, names))
      }
    }
  }

  return {
    entries: (): [key: string, value: Value][] =>
      [...kept].flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value]])),
    /** Another one after each change. */
    version: () => version,
    /** Reads what changed since the last time; everything where the names have changed. Not twice at once. */
    async update(names: Names): Promise<void> {
      if (names !== readUnder) {
        keep(new Set())
        latest = 0
        readUnder = names
      }
      let changes = await root.records.changes(collection, latest)
      await read(changes.changed, names)
      if (sum !== changes.sum || changes.latest < latest) {
        // Something was removed, or the store was set back.
        changes = await root.records.changes(collection, 0)
        keep(new Set(changes.changed.map(([key]) => key)))
        await read(
          changes.changed.filter(([key, number]) => kept.get(key)?.number !== number),
          names,
        )
      }
      latest = changes.latest
    },
  }
}
