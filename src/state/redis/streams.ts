import { Failure } from '../../domain/failure.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { CheckpointStore, Holder, Taken } from '../../ports.ts'
import { bytesOf, listOf, textOf } from './answer.ts'
import type { Holders } from './holders.ts'
import type { Place } from './keys.ts'
import type { Link } from './link.ts'
import { checkpointIn, fenceText, headBytes, readHead } from './record.ts'
import type { SinkNames } from './sink-names.ts'
import type { Identity } from './store-identity.ts'

/** Holders that are found dead one after the other while a stream is being taken. */
const maxTries = 4

export interface Streams {
  readonly take: CheckpointStore['take']
  readonly heartbeat: CheckpointStore['heartbeat']
  readonly holds: CheckpointStore['holds']
  readonly release: CheckpointStore['release']
  readonly read: CheckpointStore['read']
}

export function createStreams(link: Link, names: SinkNames, holders: Holders, identity: Identity): Streams {
  /** The record with the new fence. Throws `held`. */
  async function raise(stream: Stream, place: Place, floor: string, holder: Holder): Promise<Uint8Array> {
    let dead = '-'
    for (let tries = 0; tries < maxTries; tries++) {
      const args = [holder.id, holder.schedule ? 1 : 0, dead, floor, stream.sink]
      const answer = listOf(await link.script('take-stream', [place.record], args))
      if (textOf(answer[0]) === 'taken') return bytesOf(answer[1])
      const other = textOf(answer[1])
      const until = await holders.keptUntil(other)
      if (until !== undefined) throw held(stream, until)
      dead = other
    }
    throw new Failure('retry', 'store_unavailable', `the stream ${streamKey(stream)} changes hands too fast`)
  }

  return {
    async take(stream, holder) {
      const { place, floor } = await names.enrol(stream)
      const record = await raise(stream, place, floor, holder)
      // The id comes after the record: a store that was emptied in between then is another one, and nothing is cut to
      // what the old one did not know.
      const [storeId] = await Promise.all([identity.read(), holders.hear(holder.id)])
      return {
        fence: Number(readHead(record).fence),
        checkpoint: checkpointIn(record, stream),
        storeId,
      } satisfies Taken
    },
    heartbeat: (holder) => holders.hear(holder.id),
    async holds(stream, fence) {
      const place = await names.recall(stream)
      if (place === undefined) return false
      const found = await link.run((client) => client.getrangeBuffer(place.record, 0, headBytes - 1))
      if (found.byteLength === 0) return false
      const head = readHead(found)
      return head.fence === fenceText(fence) && head.sink === stream.sink
    },
    async release(stream, fence) {
      const place = await names.recall(stream)
      if (place === undefined) return
      await link.script('release-stream', [place.record], [fenceText(fence)])
    },
    async read(stream) {
      const place = await names.find(stream)
      if (place === undefined) return undefined
      const record = await link.run((client) => client.getBuffer(place.record))
      return record === null ? undefined : checkpointIn(record, stream)
    },
  }
}

export function held(stream: Stream, until: number): Failure {
  const text = `the stream ${streamKey(stream)} is held by another live process`
  return new Failure('wait', 'held', text, { retryAt: until })
}
