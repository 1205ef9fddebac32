import { dayOf } from '../../domain/day.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Upkeep } from '../../ports/upkeep.ts'
import { heardWithinMs, holderKeptMs } from '../held.ts'
import type { BackfillsInRedis } from './backfills.ts'
import type { Gaps } from './gaps.ts'
import { streamOf, type Keys } from './keys.ts'
import type { Link } from './link.ts'
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

export function createPruning(deps: PruneDeps): Upkeep['prune'] {
  const { link, keys, gaps, backfills, instant } = deps

  /** An ended stream is old by its end; one without a commit, or without a head, by its day. */
  async function oldOf(stream: string, before: number, abandoned: ReadonlySet<string>): Promise<Old[]> {
    const { head } = keys.of(streamOf(stream))
    const fields = await link.run((client) => client.hmget(head, 'fence', 'commit', 'ended'))
    const [fence, commit, ended] = fields
    const isEnded = ended !== null && ended !== undefined && Number(ended) < before
    const isForgotten = Number(commit ?? 0) === 0 && streamOf(stream).day < dayOf(before)
    return isEnded || isForgotten || abandoned.has(stream) ? [{ stream, fence: fence ?? '0' }] : []
  }

  async function drop(old: readonly Old[]): Promise<void> {
    const own = old.flatMap(({ stream }) => {
      const { head, checkpoint, seen, ledger } = keys.of(streamOf(stream))
      return [head, checkpoint, seen, ledger]
    })
    const args = old.flatMap(({ stream, fence }) => [stream, fence])
    const all = [keys.meta, keys.streams, keys.holders, ...own]
    await link.script('drop-streams', all, [instant(), heardWithinMs, ...args])
  }

  return async function prune(checkpointsBefore, gapsBefore, abandoned = []) {
    const abandonedKeys = new Set(abandoned.map(streamKey))
    const streams = await link.run((client) => client.zrange(keys.streams, '0', '-1'))
    for (let from = 0; from < streams.length; from += atOnce) {
      const some = streams.slice(from, from + atOnce)
      const old = (
        await Promise.all(some.map((stream) => oldOf(stream, checkpointsBefore, abandonedKeys)))
      ).flat()
      if (old.length > 0) await drop(old)
    }
    await gaps.prune(gapsBefore)
    await backfills.prune(gapsBefore)
    await link.script('drop-holders', [keys.holders], [instant(), holderKeptMs])
  }
}
