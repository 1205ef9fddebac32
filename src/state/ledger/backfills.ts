import type { Day } from '../../domain/day.ts'
import { createInTurn } from '../../domain/promises.ts'
import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/plan/backfill.ts'
import type { Backfills } from '../../ports/store.ts'
import { createMirror } from './catalogue.ts'
import type { LedgerDeps } from './streams.ts'
import { keyOf, streamOf } from './root.ts'
import { byText, jsonOf, readAll, readOne } from './values.ts'

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

export function createBackfills({ records, root }: LedgerDeps): PrunedBackfills {
  const inTurn = createInTurn()
  /** What is known of the streams of each backfill, by their keys; in order as long as none of them changes. */
  const known = new Map<string, { readonly own: Map<string, Backfilled>; inOrder?: readonly Backfilled[] }>()
  const streams = createMirror(
    records,
    'backfilled',
    (key, value, names): Backfilled | undefined => {
      const stream = streamOf(partsOf(key).stream, names)
      return stream && { stream, ...jsonOf<Outcome>(value) }
    },
    (key, value) => {
      const { id } = partsOf(key)
      const own = known.get(id)?.own ?? new Map<string, Backfilled>()
      if (value === undefined) own.delete(key)
      else own.set(key, value)
      known.set(id, { own })
    },
  )

  function streamsOf(id: string): readonly Backfilled[] {
    const of = known.get(id)
    if (of === undefined) return []
    of.inOrder ??= [...of.own.values()].sort(
      ({ stream: a }, { stream: b }) => byText(a.day, b.day) || a.zone - b.zone || byText(a.sink, b.sink),
    )
    return of.inOrder
  }

  const list = (): Promise<Backfill[]> =>
    inTurn(async () => {
      await root.refresh()
      const heads = await readAll(records, 'backfills', (_, value) => jsonOf<BackfillHead>(value))
      await streams.update(root.names)
      const all = [...heads].map(([id, { state, ...head }]) => {
        const own = streamsOf(id)
        return { id, ...head, state: stateAfter({ state, streams: own }), streams: own }
      })
      return all.sort((a, b) => a.createdAtMs - b.createdAtMs || byText(a.id, b.id))
    })

  return {
    async add({ id, createdAtMs, from, to, state, streams: own }) {
      const sinks = new Set(own.map(({ stream }) => stream.sink))
      await root.change([...sinks], async (names) => {
        if ((await readOne(records, 'backfills', id)) !== undefined) return { result: undefined }
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
        const is = await readOne(records, 'backfills', id)
        const head = is && jsonOf<BackfillHead>(is)
        const [queued] = [...(known.get(id)?.own ?? [])].find(([, each]) => each.state === 'queued') ?? []
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
        const own = [...(known.get(id)?.own.keys() ?? [])].map((key) => ['backfilled', key] as const)
        await records.write({ when: [], remove: [['backfills', id], ...own] })
      }
    },
  }
}

/** A key is `id/zone/day/sink`. */
function partsOf(key: string): { readonly id: string; readonly stream: string } {
  const parts = key.split('/')
  return { id: parts.slice(0, -3).join('/'), stream: parts.slice(-3).join('/') }
}
