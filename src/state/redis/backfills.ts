import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/backfill.ts'
import type { Day } from '../../domain/day.ts'
import type { CheckpointStore } from '../../ports.ts'
import { numberOf } from './answer.ts'
import type { Keys } from './keys.ts'
import type { Link } from './link.ts'

const dropped = 1_000

export interface Backfills {
  readonly add: CheckpointStore['addBackfill']
  readonly list: CheckpointStore['backfills']
  readonly setState: CheckpointStore['setBackfillState']
  readonly settle: CheckpointStore['settleBackfilled']
  /** Drops those that were made before that instant and have ended. */
  prune(madeBefore: number): Promise<void>
}

export function createBackfills(link: Link, keys: Keys): Backfills {
  const both = [keys.backfills, keys.backfilled]

  async function list(): Promise<Backfill[]> {
    const backfills = await link.run((client) => client.hgetall(keys.backfills))
    if (Object.keys(backfills).length === 0) return []
    const streams = Object.entries(await link.run((client) => client.hgetall(keys.backfilled))).map(
      readStream,
    )
    const byBackfill = Map.groupBy(streams, ({ id }) => id)
    return Object.entries(backfills)
      .map(([id, value]) =>
        readBackfill(
          id,
          value,
          (byBackfill.get(id) ?? []).map(({ settled }) => settled),
        ),
      )
      .sort((a, b) => a.createdAtMs - b.createdAtMs || compare(a.id, b.id))
  }

  return {
    async add({ id, createdAtMs, from, to, state, streams }) {
      const queued = streams.filter((each) => each.state === 'queued').length
      const fields = streams.flatMap((each) => [fieldOf(id, each), valueOf(each)])
      const head = [createdAtMs, from, to, state, queued].join(' ')
      await link.script('add-backfill', both, [id, head, ...fields])
    },
    list,
    async setState(id, state) {
      return numberOf(await link.script('set-backfill', [keys.backfills], [id, state])) === 1
    },
    async settle(id, settled) {
      await link.script('settle-backfilled', both, [id, fieldOf(id, settled), valueOf(settled)])
    },
    async prune(madeBefore) {
      for (const { id, createdAtMs, state, streams } of await list()) {
        if (createdAtMs >= madeBefore || state === 'running' || state === 'paused') continue
        const fields = streams.map((each) => fieldOf(id, each))
        for (let from = 0; from < fields.length; from += dropped)
          await link.run((client) => client.hdel(keys.backfilled, ...fields.slice(from, from + dropped)))
        await link.run((client) => client.hdel(keys.backfills, id))
      }
    },
  }
}

/** The sink comes last, so that it can be renamed without reading the rest. */
function fieldOf(id: string, { stream: { zone, day, sink } }: Backfilled): string {
  return `${encodeURIComponent(id)}/${zone}/${day}/${sink}`
}

function valueOf({ state, reason }: Backfilled): string {
  return reason === undefined ? state : `${state} ${reason}`
}

function readStream([field, value]: readonly [string, string]): {
  readonly id: string
  readonly settled: Backfilled
} {
  const [id = '', zone, day, sink = ''] = field.split('/')
  const [state = '', ...reason] = value.split(' ')
  const stream = { zone: Number(zone), day: day as Day, sink }
  const settled = { stream, state: state as Backfilled['state'] }
  return {
    id: decodeURIComponent(id),
    settled: reason.length === 0 ? settled : { ...settled, reason: reason.join(' ') },
  }
}

function readBackfill(id: string, value: string, streams: readonly Backfilled[]): Backfill {
  const [createdAt, from, to, ...rest] = value.split(' ')
  const state = rest.at(-2)
  const own = streams.toSorted(
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
