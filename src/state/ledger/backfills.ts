import type { Day } from '../../domain/day.ts'
import { createInTurn } from '../../domain/promises.ts'
import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/plan/backfill.ts'
import type { Backfills } from '../../ports/store.ts'
import { createMirror } from './checkpoints.ts'
import type { LedgerDeps } from './streams.ts'
import { keyOf, streamOf } from './root.ts'
import { byText, jsonOf, readOne } from './values.ts'

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
  const listed = new Map<string, Backfill>()
  /** Ids of backfills that are not listed as they are now. */
  const touched = new Set<string>()
  /** Keys of the streams of each backfill. */
  const keysOf = new Map<string, Set<string>>()
  const heads = createMirror(
    records,
    'backfills',
    (_, value) => jsonOf<BackfillHead>(value),
    (id) => touched.add(id),
  )
  const streams = createMirror(
    records,
    'backfilled',
    (key, value, names): Backfilled | undefined => {
      const stream = streamOf(partsOf(key).stream, names)
      return stream && { stream, ...jsonOf<Outcome>(value) }
    },
    (key, value) => {
      const { id } = partsOf(key)
      touched.add(id)
      const keys = keysOf.get(id) ?? new Set()
      keysOf.set(id, keys)
      if (value === undefined) keys.delete(key)
      else keys.add(key)
    },
  )

  function backfillOf(id: string, { state, createdAtMs, from, to }: BackfillHead): Backfill {
    const own = [...(keysOf.get(id) ?? [])].map((key) => streams.get(key)!)
    own.sort(
      ({ stream: a }, { stream: b }) => byText(a.day, b.day) || a.zone - b.zone || byText(a.sink, b.sink),
    )
    return { id, createdAtMs, from, to, state: stateAfter({ state, streams: own }), streams: own }
  }

  const list = (): Promise<Backfill[]> =>
    inTurn(async () => {
      await root.refresh()
      const { names } = root
      await heads.update(names)
      await streams.update(names)
      for (const id of touched) {
        const head = heads.get(id)
        if (head !== undefined) listed.set(id, backfillOf(id, head))
        else listed.delete(id)
      }
      touched.clear()
      return [...listed.values()].sort((a, b) => a.createdAtMs - b.createdAtMs || byText(a.id, b.id))
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
        const backfill = (await list()).find((each) => each.id === id)
        const head = heads.get(id)
        const queued = [...(keysOf.get(id) ?? [])].find((key) => streams.get(key)?.state === 'queued')
        if (backfill === undefined || head === undefined || queued === undefined) return { result: false }
        if (backfill.state === 'cancelled') return { result: false }
        const when = [
          { collection: 'backfills', key: id, is: JSON.stringify(head) },
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
        const own = [...(keysOf.get(id) ?? [])].map((key) => ['backfilled', key] as const)
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
