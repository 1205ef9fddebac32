import type { Day } from '../../domain/day.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Upkeep } from '../../ports/store.ts'
import { heardWithinMs, holderKeptMs } from '../held.ts'
import type { BackfillsInRedis } from './backfills.ts'
import type { Gaps } from './gaps.ts'
import { streamOf, type Keys } from './keys.ts'
import type { Link } from './server/link.ts'
import type { Instant } from './streams.ts'

export interface PruneDeps {
  readonly link: Link
  readonly keys: Keys
  readonly gaps: Gaps
  readonly backfills: BackfillsInRedis
  readonly instant: Instant
}

const atOnce = 100

interface Old {
  readonly stream: string
  /** 0 for a stream that only the list of streams still holds. */
  readonly fence: string
}

export function createPruning(deps: PruneDeps): Pick<Upkeep, 'prune'> {
  const { link, keys, gaps, backfills, instant } = deps

  /** A stream without a commit, or without a head, is old by its day. */
  async function oldOf(stream: string, before: Day, unneeded: ReadonlySet<string>): Promise<Old[]> {
    const isOld = streamOf(stream).day < before
    if (!isOld && !unneeded.has(stream)) return []
    const { head } = keys.of(streamOf(stream))
    const [fence, commit] = await link.run((client) => client.hmget(head, 'fence', 'commit'))
    const isForgotten = isOld && Number(commit ?? 0) === 0
    return isForgotten || unneeded.has(stream) ? [{ stream, fence: fence ?? '0' }] : []
  }

  async function drop(old: readonly Old[], keptMs: number): Promise<void> {
    const own = old.flatMap(({ stream }) => {
      const { head, checkpoint, seen, ledger } = keys.of(streamOf(stream))
      return [head, checkpoint, seen, ledger]
    })
    const args = old.flatMap(({ stream, fence }) => [stream, fence])
    const all = [keys.meta, keys.streams, keys.holders, ...own]
    await link.script('drop-streams', all, [instant(), keptMs, ...args])
  }

  async function eachSome(
    streams: readonly string[],
    work: (some: readonly string[]) => Promise<void>,
  ): Promise<void> {
    for (let from = 0; from < streams.length; from += atOnce) await work(streams.slice(from, from + atOnce))
  }

  const listed = () => link.run((client) => client.zrange(keys.streams, '0', '-1'))
  return {
    async prune(streams, { uncommittedBefore, gapsBefore }) {
      const unneeded = new Set(streams.map(streamKey))
      await eachSome(await listed(), async (some) => {
        const own = some.map((stream) => oldOf(stream, uncommittedBefore, unneeded))
        const old = (await Promise.all(own)).flat()
        if (old.length > 0) await drop(old, heardWithinMs)
      })
      await gaps.prune(gapsBefore)
      await backfills.prune(gapsBefore)
      await link.script('drop-holders', [keys.holders], [instant(), holderKeptMs])
    },
  }
}
