import { hasShipped } from '../../domain/checkpoint.ts'
import { withDay, type Day, type DayRange } from '../../domain/day.ts'
import { Failure } from '../../domain/failure.ts'
import { streamKey } from '../../domain/stream.ts'
import type { RecordKey } from '../../ports/records.ts'
import type { Processes, Upkeep } from '../../ports/store.ts'
import type { PrunedBackfills } from './backfills.ts'
import type { GapRecord, SinkRecord } from './catalogue.ts'
import {
  again,
  jsonOf,
  keysAtOnce,
  madeMark,
  namesOf,
  refuseRenaming,
  renamingForUs,
  routeOf,
  storedIn,
  streamOf,
  textOf,
  type Names,
  type NamesRecord,
  type PartialWrite,
  type Root,
} from './root.ts'
import { forgetDeadLetters } from './dead-letters.ts'
import { objectsOf } from './objects.ts'
import { seenOf } from './seen.ts'
import { auditsOf, checkpointOf, held, lives, whenHead, type Head } from './streams.ts'

const streamsAtOnce = 100
/** A holder without a heartbeat for this long is removed. */
const holderKeptUs = 3_600_000_000

/**
 * Drops those of these streams that are old and that no live holder has. Days of which something was shipped are
 * remembered in the same write, also where the route was never planned; not where all of a sink or zone is `forgotten`.
 * Returns how many it dropped.
 */
function dropStreams(
  root: Root,
  keys: readonly string[],
  isOld: (key: string, head: Head) => boolean,
  forgotten = false,
): Promise<number> {
  return root.change([], async () => {
    const { records, store, whenStore } = root
    const when = [whenStore]
    const dropped: string[] = []
    /** By route. */
    const shipped = new Map<string, Day[]>()
    let floor = store?.floor ?? 0
    const heads = await root.readMany('heads', keys)
    // After the heads: a checkpoint that is newer than its head makes the write fail.
    const checkpoints = await root.readMany('checkpoints', keys)
    for (const [key, value] of heads) {
      const head = jsonOf<Head>(value)
      if (!isOld(key, head)) continue
      const { leftUs, conditions } = await lives(records, head.holder)
      if (leftUs > 0) continue
      dropped.push(key)
      when.push(whenHead(key, head), ...conditions)
      floor = Math.max(floor, head.fence)
      const [stream, checkpoint] = [streamOf(key, root.names), checkpoints.get(key)]
      if (forgotten || stream === undefined || checkpoint === undefined) continue
      if (!hasShipped(checkpointOf(stream, checkpoint))) continue
      shipped.set(routeOf(key), [...(shipped.get(routeOf(key)) ?? []), stream.day])
    }
    if (dropped.length === 0 || store === undefined) return { result: 0 }
    const marks = await root.changed<readonly DayRange[], Day[]>('pruned', shipped, (before = [], days) =>
      days.reduce(withDay, before),
    )
    const write: PartialWrite = {
      when: [...when, ...marks.when],
      drop: dropped.flatMap((key) => [seenOf(key), objectsOf(key)]),
      remove: dropped.flatMap((key) => [
        ...['heads', 'checkpoints', 'counted'].map((collection): RecordKey => [collection, key]),
        ...auditsOf(key),
      ]),
      put: [['store', 'store', JSON.stringify({ ...store, floor })], ...marks.put],
    }
    return { result: dropped.length, write }
  })
}

/** Each condition is checked again with the removal. */
async function dropWhere(
  { records }: Root,
  collection: string,
  isOld: (key: string, value: Uint8Array) => boolean,
): Promise<void> {
  for await (const page of records.scan(collection, keysAtOnce)) {
    const old = page.filter(([key, value]) => isOld(key, value))
    if (old.length === 0) continue
    await records.write({
      when: old.map(([key, is]) => ({ collection, key, is })),
      remove: old.map(([key]) => [collection, key] as const),
    })
  }
}

export function createPrune(root: Root, backfills: PrunedBackfills, processes: Processes): Upkeep['prune'] {
  const { records } = root
  return async (streams, { uncommittedBefore, gapsBefore }) => {
    const nowUs = await root.refresh()
    const unneeded = new Set(streams.map(streamKey))
    const isOld = (key: string, { commit }: Head): boolean => {
      const stream = streamOf(key, root.names)
      if (stream === undefined) return true
      return unneeded.has(streamKey(stream)) || (commit === 0 && stream.day < uncommittedBefore)
    }
    for await (const page of records.scan('heads', streamsAtOnce)) {
      const old = page.filter(([key, value]) => isOld(key, jsonOf<Head>(value)))
      if (old.length > 0) await dropStreams(root, [...new Map(old).keys()], isOld)
    }
    const isReplaced = (key: string) => root.names.sinkOf(storedIn(key)) === undefined
    await dropWhere(root, 'gaps', (_, value) => jsonOf<GapRecord>(value).recordedAt < gapsBefore)
    await backfills.prune(gapsBefore)
    for (const collection of ['routes', 'pruned', 'backfilled']) await dropWhere(root, collection, isReplaced)
    await dropWhere(root, 'holders', (_, value) => Number(textOf(value)) < nowUs - holderKeptUs)
    const { living } = await processes.living()
    const ids = new Set(living.map(({ id }) => id))
    await dropWhere(root, 'processes', (id) => !ids.has(id))
    await records.reclaim()
  }
}

/** Where the key begins with the zone, and ends with the stored name of the sink. */
const ofRoutes = ['gaps', 'routes', 'pruned']

export function createForget(root: Root): Upkeep['forget'] {
  const { records, clock } = root
  return async (of) => {
    await root.refresh()
    // By the names of now: what another process renames meanwhile belongs to another sink.
    const isOf =
      'sink' in of
        ? (key: string) => root.names.sinkOf(storedIn(key)) === of.sink
        : (key: string) => key.startsWith(`${of.zone}/`)
    let dropped = 0
    for await (const page of records.scan('heads', streamsAtOnce)) {
      const own = new Map(page.filter(([key]) => isOf(key)))
      if (own.size > 0) dropped += await dropStreams(root, [...own.keys()], isOf, true)
    }
    for await (const page of records.scan('heads', keysAtOnce))
      for (const [key, value] of page)
        if (isOf(key)) {
          const { leftUs } = await lives(records, jsonOf<Head>(value).holder)
          throw held(streamOf(key, root.names)!, leftUs, clock)
        }
    await forgetDeadLetters(root, isOf)
    for (const collection of ofRoutes) await dropWhere(root, collection, isOf)
    await dropWhere(root, 'backfilled', (key) => isOf(key.slice(key.indexOf('/') + 1)))
    if ('sink' in of) await dropWhere(root, 'sinks', isOf)
    await records.reclaim()
    return dropped
  }
}

/** What is not dropped for a rename, with its word for people. */
const kept = { gaps: 'gaps', deadLetterTotals: 'dead letters' }

/**
 * Gives a sink's stored name to its new name; no record moves. Whoever begins something of a sink does so on condition
 * that the names are as they were read, and does not while they have a mark. So one write sets the mark; then this looks
 * whether the new name has nothing to be kept and no live holder has a stream; and one more write replaces the names.
 */
export function createRenameSink(root: Root): Upkeep['renameSink'] {
  const { records, clock } = root

  /** Throws where the rename is refused. `fence`: the highest one of the sink's streams, and of those that it replaces. */
  async function look(from: string, to: string, names: Names) {
    const [before, after] = [names.storedOf(from), names.storedOf(to)]
    const taken = new Set<string>()
    for (const [collection, what] of Object.entries(kept))
      for await (const page of records.scan(collection, keysAtOnce))
        if (page.some(([key]) => storedIn(key) === after)) taken.add(what)
    if (taken.size > 0) {
      const text = `the sink name ${to} is taken (the state has ${[...taken].join(', ')} of it)`
      throw new Failure('refuse', 'store_refuses', `${text}: choose a name that was never used`)
    }
    const heads = await root.readAll('heads', (key, value) =>
      storedIn(key) === before || storedIn(key) === after ? jsonOf<Head>(value) : undefined,
    )
    const holders = new Map([...heads].map(([key, { holder }]) => [holder, key]))
    for (const [holder, key] of holders) {
      const { leftUs } = await lives(records, holder)
      if (leftUs > 0) throw held(streamOf(key, names)!, leftUs, clock)
    }
    return {
      streams: [...heads.keys()].filter((key) => storedIn(key) === before).length,
      fence: [...heads.values()].reduce((highest, { fence }) => Math.max(highest, fence), 0),
    }
  }

  const replaceNames = (before: Names, after: Names): Promise<boolean> =>
    records.write({ when: [before.condition], put: [['store', 'names', after.text!]] })

  /** False where others changed something meanwhile. */
  async function replaceStored(from: string, to: string, marked: Names, fence: number): Promise<boolean> {
    const nowUs = await root.refresh()
    const { store, whenStore } = root
    if (store === undefined) return false
    // The mark must hold until the write is done.
    if (nowUs - marked.record.renaming!.sinceUs > renamingForUs / 2)
      throw new Failure('retry', 'store_unavailable', 'the rename took too long: try again')
    const [before, after] = [marked.storedOf(from), marked.storedOf(to)]
    const is = await root.readOne('sinks', before)
    // Of a sink that the store does not know, too.
    const sink = is === undefined ? { type: '', place: '', formerly: [] } : jsonOf<SinkRecord>(is)
    const renamed = namesOf(JSON.stringify(renamedIn(marked.record, from, to, before)))
    const isWritten = await records.write({
      when: [marked.condition, whenStore, { collection: 'sinks', key: before, is }],
      remove: [['sinks', after]],
      put: [
        ['store', 'names', renamed.text!],
        // A new stream under the old name must not accept a commit of a pump that held the renamed one.
        ['store', 'store', JSON.stringify({ ...store, floor: Math.max(store.floor, fence) })],
        ['sinks', before, JSON.stringify({ ...sink, formerly: [...sink.formerly, from] })],
      ],
    })
    await root.refresh()
    // A write that was carried out twice finds its own names.
    return isWritten || root.names.text === renamed.text
  }

  return (from, to) =>
    root.untilDecided(async () => {
      if (from === to) return 0
      const nowUs = await root.refresh()
      const { names } = root
      refuseRenaming(names, names.record.renaming?.from ?? from, nowUs)
      const { renaming: _, ...record } = names.record
      const marked = namesOf(JSON.stringify({ ...record, renaming: { from, to, sinceUs: nowUs } }))
      if (!(await replaceNames(names, marked))) return again
      let isRenamed = false
      try {
        const { streams, fence } = await look(from, to, marked)
        isRenamed = await replaceStored(from, to, marked, fence)
        return isRenamed ? streams : again
      } finally {
        if (!isRenamed) await replaceNames(marked, namesOf(JSON.stringify(record)))
      }
    })
}

/** The old name gets a stored name that was never used. */
function renamedIn({ stored, made }: NamesRecord, from: string, to: string, before: string): NamesRecord {
  const { [to]: _, ...others } = stored
  return {
    stored: { ...others, ...(to !== before && { [to]: before }), [from]: `${from}${madeMark}${made + 1}` },
    made: made + 1,
  }
}
