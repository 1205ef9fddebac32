import { setImmediate } from 'node:timers/promises'
import { shiftDay, type Day } from '../../domain/day.ts'
import { isOpenGap, type Gap } from '../../domain/gap.ts'
import type { KnownSink } from '../../domain/known-sink.ts'
import { createInTurn } from '../../domain/promises.ts'
import type { Route } from '../../domain/stream.ts'
import type { ZoneList } from '../../domain/zone-list.ts'
import type { NoticedAt } from '../../domain/notices.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Records, Changes, TrackedCollection } from '../../ports/records.ts'
import { storedIn, type Names, streamOf } from './root.ts'
import { byText, changed, inParts, jsonOf, keysAtOnce, readAll, readMany, readOne } from './values.ts'
import { checkpointOf, type LedgerDeps } from './streams.ts'

// What is kept of each, without the sink, which may be renamed: it is in the key, by its stored name.
export type GapRecord = Omit<Gap, 'sink'>
export interface RouteRecord extends Omit<Route, 'sink'> {
  /** The newest day of which a checkpoint was pruned. */
  readonly prunedTo?: Day
}
export type SinkRecord = Omit<KnownSink, 'name'>

const noMark: readonly string[] = Object.freeze([])

/** Checkpoints, gaps, routes, sinks, and the zones of accounts. None of them is listed of a sink that was replaced. */
export function createCatalogue({ records, root }: LedgerDeps): Catalogue {
  const inTurn = createInTurn()
  // Without their marks, which take more than the rest and serve a pump only.
  const mirror = createMirror(records, 'checkpoints', (key, value, names) => {
    const stream = streamOf(key, names)
    return stream && { ...checkpointOf(stream, value), mark: noMark }
  })

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
    checkpoints: () =>
      inTurn(async () => {
        await root.refresh()
        await mirror.update(root.names)
        return mirror.values()
      }),
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
    routes: () =>
      list<RouteRecord, Route>('routes', ({ prunedTo, ...record }, sink) => {
        const isPruned = prunedTo !== undefined && prunedTo >= record.firstDay
        return { ...record, ...(isPruned && { firstDay: shiftDay(prunedTo, 1) }), sink }
      }),
    isPruned: (stream) =>
      root.under(stream, async (key) => {
        const route = await readOne(records, 'routes', `${stream.zone}/${storedIn(key)}`)
        return route !== undefined && stream.day <= (jsonOf<RouteRecord>(route).prunedTo ?? '')
      }),
    async rememberRoutes(routes) {
      await write(routes, (some, names) => {
        const keys = some.map(({ zone, sink }) => `${zone}/${names.storedOf(sink)}`)
        return changed<RouteRecord>(records, 'routes', keys, (before, index) => {
          const { zone, firstDay, plannedAtMs } = some[index]!
          const isKnownEarlier = before !== undefined && before.firstDay < firstDay
          return { ...before, zone, firstDay: isKnownEarlier ? before.firstDay : firstDay, plannedAtMs }
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
    async noticed() {
      const all = await readAll(records, 'noticed', (_, value) => jsonOf<NoticedAt>(value))
      return [...all.values()]
    },
    storeNoticed(noticed, before) {
      const key = noticed.place
      const is = before.known.length === 0 ? undefined : JSON.stringify(before)
      const when = [{ collection: 'noticed', key, is }]
      if (noticed.known.length === 0) return records.write({ when, remove: [['noticed', key]] })
      return records.write({ when, put: [['noticed', key, JSON.stringify(noticed)]] })
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

/** Their values are parsed in one step of the event loop, in about 5 ms. */
const readAtOnce = 64

/**
 * A tracked collection in memory; what has not changed is the same object as before. `touch` is told of each key that was
 * put or is gone, also by an update that fails afterwards.
 */
export function createMirror<Value extends object>(
  records: Records,
  collection: TrackedCollection,
  valueOf: (key: string, value: Uint8Array, names: Names) => Value | undefined,
  touch: (key: string, value: Value | undefined) => void = () => undefined,
) {
  /** `number`: of its latest put. */
  const known = new Map<string, { readonly number: number; readonly value: Value | undefined }>()
  let latest = 0
  /** Of the numbers of all that is known. */
  let sum = 0n
  let readUnder: Names | undefined

  function set(key: string, number: number, value: Value | undefined): void {
    sum += BigInt(number) - BigInt(known.get(key)?.number ?? 0)
    known.set(key, { number, value })
    touch(key, value)
  }

  function drop(key: string): void {
    set(key, 0, undefined)
    known.delete(key)
  }

  async function readChanged(changed: Changes['changed'], names: Names): Promise<void> {
    for (const [at, some] of [...inParts(changed, readAtOnce)].entries()) {
      if (at > 0) await setImmediate()
      const keys = some.map(([key]) => key)
      const values = await readMany(records, collection, keys)
      for (const [index, [key, number]] of some.entries()) {
        const value = values[index]
        set(key, number, value && valueOf(key, value, names))
      }
    }
  }

  return {
    values: (): Value[] => [...known.values()].flatMap(({ value }) => value ?? []),
    /** Reads what changed since the last time; everything where the names have changed. Not twice at once. */
    async update(names: Names): Promise<void> {
      if (names !== readUnder) {
        for (const key of known.keys()) drop(key)
        latest = 0
        readUnder = names
      }
      const changes = await records.changes(collection, latest)
      await readChanged(changes.changed, names)
      if (sum === changes.sum && changes.latest >= latest) {
        latest = changes.latest
        return
      }
      // Something was removed, or the store was set back.
      const all = await records.changes(collection, 0)
      const left = new Map(all.changed)
      for (const key of known.keys()) if (!left.has(key)) drop(key)
      const different = all.changed.filter(([key, number]) => known.get(key)?.number !== number)
      await readChanged(different, names)
      latest = all.latest
    },
  }
}
