import type { Checkpoint } from '../../domain/checkpoint.ts'
import { createInTurn } from '../../domain/promises.ts'
import { listOf, textOf } from './server/answer.ts'
import { listed } from '../listed.ts'
import { streamOf, type Keys } from './keys.ts'
import type { Link } from './server/link.ts'
import { readCheckpoint } from './streams.ts'

/** Their texts are parsed in one step of the event loop, in about 5 ms. */
const readAtOnce = 64

interface Known {
  /** Number of the latest change. */
  readonly change: number
  readonly checkpoint: Checkpoint | undefined
}

interface Changes {
  readonly storeId: string
  readonly latest: number
  readonly sum: number
  readonly streams: readonly (readonly [stream: string, change: number])[]
}

/**
 * All checkpoints, for a plan every second: reads only those that changed since the last list. The sum of all change
 * numbers shows that streams were removed, or that the store was emptied or restored from an older state: then
 * everything is read. A checkpoint may be that of the last list, and is frozen.
 */
export function createCheckpointList(link: Link, keys: Keys): () => Promise<Checkpoint[]> {
  const inTurn = createInTurn()
  const known = new Map<string, Known>()
  /** Undefined before the first list. */
  let storeId: string | undefined
  let latest = 0

  async function readChanges(since: number): Promise<Changes> {
    const answer = listOf(await link.script('changed-streams', [keys.meta, keys.streams], [since])).map(
      textOf,
    )
    const [storeId = '', latest, sum, ...rest] = answer
    const streams = rest.flatMap((stream, index) =>
      index % 2 === 0 ? [[stream, Number(rest[index + 1])] as const] : [],
    )
    return { storeId, latest: Number(latest), sum: Number(sum), streams }
  }

  async function readStreams(streams: Changes['streams']): Promise<void> {
    for (let from = 0; from < streams.length; from += readAtOnce) {
      const some = streams.slice(from, from + readAtOnce)
      const of = some.map(([stream]) => keys.of(streamOf(stream)).checkpoint)
      const texts = await link.run((client) => client.mget(of))
      for (const [index, [stream, change]] of some.entries()) {
        const checkpoint = readCheckpoint(streamOf(stream), texts[index] ?? '')
        known.set(stream, { change, checkpoint: checkpoint && listed(checkpoint) })
      }
    }
  }

  /** False when the known numbers do not add up to the store's sum. */
  async function readSince(since: number): Promise<boolean> {
    const changes = await readChanges(since)
    await readStreams(changes.streams)
    const isSame = changes.storeId === (storeId ?? changes.storeId) && changes.sum === sumOf(known)
    storeId = changes.storeId
    latest = changes.latest
    return isSame
  }

  async function readAll(): Promise<void> {
    known.clear()
    latest = 0
    await readSince(0)
  }

  return () =>
    inTurn(async () => {
      if (!(await readSince(latest))) await readAll()
      return [...known.values()].flatMap(({ checkpoint }) => checkpoint ?? [])
    })
}

function sumOf(known: ReadonlyMap<string, Known>): number {
  let sum = 0
  for (const { change } of known.values()) sum += change
  return sum
}
