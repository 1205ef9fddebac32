import type { Day } from '../../domain/day.ts'
import { createInTurn } from '../../domain/promises.ts'
import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/plan/backfill.ts'
import type { Backfills } from '../../ports/store.ts'
import { freeze, createMirror } from './checkpoints.ts'
import type { LedgerDeps } from './streams.ts'
import { keyOf, refuseRenaming, streamOf } from './root.ts'
import { again, jsonOf, readOne, untilDecided } from './values.ts'

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

export function createBackfills({ records, clock, root }: LedgerDeps): PrunedBackfills {
  const inTurn = createInTurn()
  let { names } = root
  const heads = createMirror(records, 'backfills', (_, value) => jsonOf<BackfillHead>(value))
  const streams = createMirror(records, 'backfilled', (key, value): Backfilled | undefined => {
    const stream = streamOf(partsOf(key).stream, names)
    return stream && { stream, ...jsonOf<Outcome>(value) }
  })
  /** Keys of the streams of each backfill. */
  const keysOf = new Map<string, Set<string>>()
  const listed = new Map<string, Backfill>()

  async function update(): Promise<void> {
    await root.refresh()
    if (names !== root.names) {
      ;({ names } = root)
      heads.clear()
      streams.clear()
      keysOf.clear()
      listed.clear()
    }
    const touched = new Set(await heads.update())
    for (const key of await streams.update()) {
      const { id } = partsOf(key)
      touched.add(id)
      if (!keysOf.has(id)) keysOf.set(id, new Set())
      if (streams.get(key) === undefined) keysOf.get(id)!.delete(key)
      else keysOf.get(id)!.add(key)
    }
    for (const id of touched) {
      const head = heads.get(id)
      if (head !== undefined) listed.set(id, freeze(backfillOf(id, head)))
      else listed.delete(id)
    }
  }

  function backfillOf(id: string, { state, createdAtMs, from, to }: BackfillHead): Backfill {
    const own = [...(keysOf.get(id) ?? [])].map((key) => streams.get(key)!)
    own.sort(
      ({ stream: a }, { stream: b }) => compare(a.day, b.day) || a.zone - b.zone || compare(a.sink, b.sink),
    )
    return { id, createdAtMs, from, to, state: stateAfter({ state, streams: own }), streams: own }
  }

  const list = (): Promise<Backfill[]> =>
    inTurn(async () => {
      await update()
      return [...listed.values()].sort((a, b) => a.createdAtMs - b.createdAtMs || compare(a.id, b.id))
    })

  return {
    async add({ id, createdAtMs, from, to, state, streams: own }) {
      const head: BackfillHead = { state, createdAtMs, from, to }
      await untilDecided(clock, async () => {
        const nowUs = await root.refresh()
        const { names } = root
        if ((await readOne(records, 'backfills', id)) !== undefined) return undefined
        for (const { stream } of own) refuseRenaming(names, stream.sink, nowUs)
        const put = own.map(
          ({ stream, ...outcome }) =>
            ['backfilled', `${id}/${keyOf(stream, names)}`, JSON.stringify(outcome)] as const,
        )
        const { outcome } = await records.write({
          when: [names.condition, { collection: 'backfills', key: id, is: undefined }],
          put: [['backfills', id, JSON.stringify(head)], ...put],
        })
        return outcome === 'done' ? undefined : again
      })
    },
    list,
    setState: (id, state) =>
      untilDecided(clock, async () => {
        const backfill = (await list()).find((each) => each.id === id)
        const head = heads.get(id)
        const queued = [...(keysOf.get(id) ?? [])].find((key) => streams.get(key)?.state === 'queued')
        if (backfill === undefined || head === undefined || queued === undefined) return false
        if (backfill.state === 'cancelled') return false
        const { outcome } = await records.write({
          when: [
            { collection: 'backfills', key: id, is: JSON.stringify(head) },
            // Else it may have got done meanwhile.
            { collection: 'backfilled', key: queued, is: JSON.stringify({ state: 'queued' }) },
          ],
          put: [['backfills', id, JSON.stringify({ ...head, state })]],
        })
        return outcome === 'done' ? true : again
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

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
