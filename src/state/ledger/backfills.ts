import type { Day } from '../../domain/day.ts'
import { createInTurn } from '../../domain/promises.ts'
import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/plan/backfill.ts'
import type { Backfills } from '../../ports/store.ts'
import { createMirror } from './catalogue.ts'
import { byText, jsonOf, keyOf, streamOf, type Root } from './root.ts'

export interface PrunedBackfills extends Backfills {
  /** Drops those that were made before that instant and have ended. */
  prune(madeBefore: number): Promise<void>
}

/** What the store keeps of one stream of a backfill. */
export type Outcome = Omit<Backfilled, 'stream'>

/** What the store keeps of a backfill beside its streams. */
interface BackfillHead {
  readonly state: BackfillState
  readonly createdAtMs: number
  readonly from: Day
  readonly to: Day
}

export function createBackfills(root: Root): PrunedBackfills {
  const { records } = root
  const inTurn = createInTurn()
  const mirror = createMirror(root, 'backfilled', (key, value, names): Backfilled | undefined => {
    const stream = streamOf(partsOf(key).stream, names)
    return stream && { stream, ...jsonOf<Outcome>(value) }
  })
  /** The streams of each backfill in their order, with their keys, as of that version of the mirror. */
  let byId = new Map<string, (readonly [key: string, stream: Backfilled])[]>()
  let version = -1
  const streamsOf = (id: string): readonly Backfilled[] => (byId.get(id) ?? []).map(([, each]) => each)

  const list = (): Promise<Backfill[]> =>
    inTurn(async () => {
      await root.refresh()
      const heads = await root.readAll('backfills', (_, value) => jsonOf<BackfillHead>(value))
      await mirror.update(root.names)
      if (version !== mirror.version()) {
        byId = Map.groupBy(mirror.entries().sort(inOrder), ([key]) => partsOf(key).id)
        version = mirror.version()
      }
      const all = [...heads].map(([id, { state, ...head }]) => {
        const streams = streamsOf(id)
        return { id, ...head, state: stateAfter({ state, streams }), streams }
      })
      return all.sort((a, b) => a.createdAtMs - b.createdAtMs || byText(a.id, b.id))
    })

  return {
    async add({ id, createdAtMs, from, to, state, streams: own }) {
      const sinks = new Set(own.map(({ stream }) => stream.sink))
      await root.change([...sinks], async (names) => {
        if ((await root.readOne('backfills', id)) !== undefined) return { result: undefined }
        const head: BackfillHead = { state, createdAtMs, from, to }
        const put = own.map(
          ({ stream, ...outcome }) =>
            ['backfilled', `${id}/${keyOf(stream, names)}`, JSON.stringify(outcome)] as const,
        )
        const when = [{ collection: 'backfills', key: id, is: undefined }]
        return { result: undefined, write: { when, put: [['backfills', id, JSON.stringify(head)], ...put] } }
      })
    },
    list,
    setState: (id, state) =>
      root.change([], async () => {
        await list()
        const is = await root.readOne('backfills', id)
        const head = is && jsonOf<BackfillHead>(is)
        const [queued] = byId.get(id)?.find(([, each]) => each.state === 'queued') ?? []
        if (head === undefined || queued === undefined || head.state === 'cancelled') return { result: false }
        const when = [
          { collection: 'backfills', key: id, is },
          // Else it may have got done meanwhile.
          { collection: 'backfilled', key: queued, is: JSON.stringify({ state: 'queued' }) },
        ]
        return {
          result: true,
          write: { when, put: [['backfills', id, JSON.stringify({ ...head, state })]] },
        }
      }),
    async prune(madeBefore) {
      for (const { id, createdAtMs, state } of await list()) {
        if (createdAtMs >= madeBefore || state === 'running' || state === 'paused') continue
        const own = (byId.get(id) ?? []).map(([key]) => ['backfilled', key] as const)
        await records.write({ when: [], remove: [['backfills', id], ...own] })
      }
    },
  }
}

function inOrder(
  [, { stream: a }]: readonly [string, Backfilled],
  [, { stream: b }]: readonly [string, Backfilled],
): number {
  return byText(a.day, b.day) || a.zone - b.zone || byText(a.sink, b.sink)
}

/** A key is `id/zone/day/sink`. */
function partsOf(key: string): { readonly id: string; readonly stream: string } {
  const parts = key.split('/')
  return { id: parts.slice(0, -3).join('/'), stream: parts.slice(-3).join('/') }
}
