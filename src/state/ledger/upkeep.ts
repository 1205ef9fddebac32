import { streamKey } from '../../domain/stream.ts'
import type { RecordKey } from '../../ports/records.ts'
import type { Upkeep } from '../../ports/store.ts'
import type { PrunedBackfills } from './backfills.ts'
import type { GapRecord } from './catalogue.ts'
import { lives, whenHead, type Head, type LedgerDeps } from './streams.ts'
import { storedIn, streamOf } from './root.ts'
import { seenOf } from './seen.ts'
import { jsonOf, keysAtOnce, readMany, textOf, type Part } from './values.ts'

const streamsAtOnce = 100
/** A holder without a heartbeat for this long is removed. */
const holderKeptUs = 3_600_000_000

interface PruneDeps extends LedgerDeps {
  readonly backfills: PrunedBackfills
}

export function createPrune({ records, root, backfills }: PruneDeps): Upkeep['prune'] {
  /** Drops those of these streams that are old and that no live holder has. */
  async function dropStreams(
    keys: readonly string[],
    isOld: (key: string, head: Head) => boolean,
  ): Promise<void> {
    await root.change([], async () => {
      const { store, whenStore } = root
      const when = [whenStore]
      const dropped: string[] = []
      let floor = store?.floor ?? 0
      const values = await readMany(records, 'heads', keys)
      for (const [index, key] of keys.entries()) {
        const head = values[index] && jsonOf<Head>(values[index])
        if (head === undefined || !isOld(key, head)) continue
        const { leftUs, conditions } = await lives(records, head.holder)
        if (leftUs > 0) continue
        dropped.push(key)
        when.push(whenHead(key, head), ...conditions)
        floor = Math.max(floor, head.fence)
      }
      if (dropped.length === 0 || store === undefined) return { result: undefined }
      const write: Part = {
        when,
        drop: dropped.map(seenOf),
        remove: dropped.flatMap((key) =>
          ['heads', 'checkpoints', 'counted', 'audits'].map((collection): RecordKey => [collection, key]),
        ),
        put: [['store', 'store', JSON.stringify({ ...store, floor })]],
      }
      return { result: undefined, write }
    })
  }

  /** Each condition is checked again with the removal. */
  async function dropWhere(
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
      if (old.length > 0) await dropStreams([...new Map(old).keys()], isOld)
    }
    const isReplaced = (key: string) => root.names.sinkOf(storedIn(key)) === undefined
    await dropWhere('gaps', (_, value) => jsonOf<GapRecord>(value).recordedAt < gapsBefore)
    await backfills.prune(gapsBefore)
    for (const collection of ['routes', 'backfilled']) await dropWhere(collection, isReplaced)
    await dropWhere('holders', (_, value) => Number(textOf(value)) < nowUs - holderKeptUs)
    await records.reclaim()
  }
}
