import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Keys } from './keys.ts'
import type { Link } from './link.ts'
import { checkpointIn, readHead } from './record.ts'
import { streamNamed, type SinkNames } from './sink-names.ts'

const readAtOnce = 200

interface Known {
  readonly hash: string
  readonly checkpoint: Checkpoint
}

/**
 * All checkpoints. The list is asked for about once a second and changes little, so what did not change is not unpacked
 * again: a checkpoint of the list may be the one of the list before, and is frozen.
 */
export function createCheckpointList(link: Link, keys: Keys, names: SinkNames): () => Promise<Checkpoint[]> {
  let known: ReadonlyMap<string, Known> = new Map()
  return async function list() {
    const sinks = await names.all()
    const streams = await link.run((client) => client.smembers(keys.streams))
    const next = new Map<string, Known>()
    for (let from = 0; from < streams.length; from += readAtOnce) {
      const some = streams.slice(from, from + readAtOnce)
      const records = await readRecords(
        link,
        some.map((stream) => keys.place(stream).record),
      )
      for (const [index, text] of some.entries()) {
        const record = records[index] ?? null
        const stream = streamNamed(text, sinks)
        if (record === null || stream === undefined) continue
        const { hash } = readHead(record)
        if (hash === undefined) continue
        const before = known.get(text)
        const same = before?.hash === hash && before.checkpoint.stream.sink === stream.sink
        const checkpoint = same ? before.checkpoint : freeze(checkpointIn(record, stream))
        if (checkpoint !== undefined) next.set(text, { hash, checkpoint })
      }
    }
    known = next
    return [...next.values()].map(({ checkpoint }) => checkpoint)
  }
}

/** A cluster answers for keys of many nodes one by one only. */
function readRecords(link: Link, keys: readonly string[]): Promise<(Buffer | null)[]> {
  return link.run((client) =>
    client.isCluster ? Promise.all(keys.map((key) => client.getBuffer(key))) : client.mgetBuffer(...keys),
  )
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const each of Object.values(value)) freeze<unknown>(each)
  return Object.freeze(value)
}
