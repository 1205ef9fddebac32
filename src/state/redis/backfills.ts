import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/plan/backfill.ts'
import type { Day } from '../../domain/day.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Backfills } from '../../ports/store.ts'
import { freeze } from '../freeze.ts'
import { numberOf } from './server/answer.ts'
import { streamOf, type Keys } from './keys.ts'
import type { Link } from './server/link.ts'

export interface BackfillsInRedis extends Backfills {
  /** Drops those that were made before that instant and have ended. */
  prune(madeBefore: number): Promise<void>
}

interface Known {
  /** What the hash of all backfills holds of it; begins with the number of its latest change. */
  readonly head: string
  readonly backfill: Backfill
}

export function createBackfills(link: Link, keys: Keys): BackfillsInRedis {
  let known: ReadonlyMap<string, Known> = new Map()

  async function read(id: string, head: string): Promise<Known> {
    const before = known.get(id)
    if (before?.head === head) return before
    const streams = await link.run((client) => client.hgetall(keys.backfill(id)))
    return { head, backfill: freeze(backfillOf(id, head, streams)) }
  }

  /** Called every second by a plan: streams of a backfill that has not changed are not read again. */
  async function list(): Promise<Backfill[]> {
    const heads = await link.run((client) => client.hgetall(keys.backfills))
    const next = new Map<string, Known>()
    for (const [id, head] of Object.entries(heads)) next.set(id, await read(id, head))
    known = next
    const backfills = [...next.values()].map(({ backfill }) => backfill)
    return backfills.sort((a, b) => a.createdAtMs - b.createdAtMs || compare(a.id, b.id))
  }

  return {
    async add({ id, createdAtMs, from, to, state, streams }) {
      const queued = streams.filter((each) => each.state === 'queued').length
      const fields = streams.flatMap((each) => [streamKey(each.stream), backfilledText(each)])
      const head = [state, queued, createdAtMs, from, to].join(' ')
      const own = [keys.meta, keys.backfills, keys.backfill(id)]
      await link.script('add-backfill', own, [id, head, ...fields])
    },
    list,
    async setState(id, state) {
      return numberOf(await link.script('set-backfill', [keys.meta, keys.backfills], [id, state])) === 1
    },
    async prune(madeBefore) {
      for (const { id, createdAtMs, state } of await list()) {
        if (createdAtMs >= madeBefore || state === 'running' || state === 'paused') continue
        await link.run((client) => client.hdel(keys.backfills, id))
        await link.run((client) => client.unlink(keys.backfill(id)))
      }
    },
  }
}

/** What the hash of a backfill holds of one stream. */
export function backfilledText({ state, reason }: Pick<Backfilled, 'state' | 'reason'>): string {
  return reason === undefined ? state : `${state} ${reason}`
}

function backfillOf(id: string, head: string, streams: Readonly<Record<string, string>>): Backfill {
  const [, state, , createdAt, from, to] = head.split(' ')
  const own = Object.entries(streams).map(([stream, text]): Backfilled => {
    const [state = '', ...reason] = text.split(' ')
    const settled = { stream: streamOf(stream), state: state as Backfilled['state'] }
    return reason.length === 0 ? settled : { ...settled, reason: reason.join(' ') }
  })
  own.sort(
    ({ stream: a }, { stream: b }) => compare(a.day, b.day) || a.zone - b.zone || compare(a.sink, b.sink),
  )
  return {
    id,
    createdAtMs: Number(createdAt),
    from: from as Day,
    to: to as Day,
    state: stateAfter({ state: state as BackfillState, streams: own }),
    streams: own,
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
