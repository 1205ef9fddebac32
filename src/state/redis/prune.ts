import { dayOf } from '../../domain/day.ts'
import type { CheckpointStore } from '../../ports.ts'
import type { Announcements } from './announcements.ts'
import { numberOf } from './answer.ts'
import type { Backfills } from './backfills.ts'
import type { Gaps } from './gaps.ts'
import { readHeads, type Listed } from './heads.ts'
import type { Holders } from './holders.ts'
import { partsOf, type Keys } from './keys.ts'
import type { Link } from './link.ts'

export interface PruneDeps {
  readonly link: Link
  readonly keys: Keys
  readonly holders: Holders
  readonly gaps: Gaps
  readonly backfills: Backfills
  readonly announcements: Announcements
}

export function createPruning(deps: PruneDeps): CheckpointStore['prune'] {
  const { link, keys, holders, gaps, backfills, announcements } = deps

  /** An ended stream is told by its end, one that never had a commit, or is gone, by its day. */
  async function isOld({ place, head }: Listed, before: number): Promise<boolean> {
    const isOldDay = partsOf(place.stream).day < dayOf(before)
    if (head === undefined) return isOldDay
    const isEnded = head.endedAtMs !== undefined && head.endedAtMs < before
    if (!isEnded && !(head.commit === 0 && isOldDay)) return false
    return head.holder === undefined || (await holders.keptUntil(head.holder)) === undefined
  }

  async function drop(old: readonly Listed[]): Promise<void> {
    const fences = old.map(({ head }) => head?.fence ?? '0').sort()
    const streams = old.map(({ place }) => place.stream)
    await link.script('unlist-streams', [keys.streams, keys.meta], [fences.at(-1) ?? '0', ...streams])
    for (const { place, head } of old) {
      const { record, seen, ledger, letters, letterTotals } = place
      const all = [record, seen, ledger, letters, letterTotals]
      const dropped = numberOf(await link.script('drop-stream', all, [head?.fence ?? '0']))
      // Somebody took it in between, and must find it on the list.
      if (dropped === 0) await link.run((client) => client.sadd(keys.streams, place.stream))
    }
  }

  return async function prune(checkpointsBefore, gapsBefore) {
    await announcements.completeAll()
    for await (const some of readHeads(link, keys)) {
      const old: Listed[] = []
      for (const listed of some) if (await isOld(listed, checkpointsBefore)) old.push(listed)
      if (old.length > 0) await drop(old)
    }
    await gaps.prune(gapsBefore)
    await backfills.prune(gapsBefore)
  }
}
