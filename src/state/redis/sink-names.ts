import type { Stream } from '../../domain/stream.ts'
import { listOf, textOf } from './answer.ts'
import { beginningOf, partsOf, type Keys, type Place } from './keys.ts'
import type { Link } from './link.ts'

/**
 * Names of sinks and the places that their streams have in the keys. A renamed sink keeps its place, so that nothing
 * has to be moved: in a cluster it would have to go to another node.
 */
export interface SinkNames {
  /** Puts the stream on the list of streams. `floor`: fences up to it were given to streams that are gone. */
  enrol(stream: Stream): Promise<{ readonly place: Place; readonly floor: string }>
  /** Undefined for a sink that has no place. */
  find(stream: Stream): Promise<Place | undefined>
  /** The same, from memory where it can: for work under a fence, which a renaming shuts out. */
  recall(stream: Stream): Promise<Place | undefined>
  /** Place → name. */
  all(): Promise<ReadonlyMap<string, string>>
  /** To be called after a renaming. */
  forget(): void
}

export function createSinkNames(link: Link, keys: Keys): SinkNames {
  const known = new Map<string, string>()
  const placeOf = (stream: Stream, place: string): Place => {
    known.set(stream.sink, place)
    return keys.place(beginningOf(stream) + place)
  }
  const find = async (stream: Stream): Promise<Place | undefined> => {
    const place = await link.run((client) => client.hget(keys.sinks, stream.sink))
    return place === null ? undefined : placeOf(stream, place)
  }
  return {
    async enrol(stream) {
      const all = [keys.sinks, keys.streams, keys.meta]
      const answer = listOf(await link.script('enrol-stream', all, [stream.sink, beginningOf(stream)]))
      return { place: placeOf(stream, textOf(answer[0])), floor: textOf(answer[1]) }
    },
    find,
    async recall(stream) {
      const place = known.get(stream.sink)
      return place === undefined ? find(stream) : placeOf(stream, place)
    },
    async all() {
      const places = await link.run((client) => client.hgetall(keys.sinks))
      return new Map(Object.entries(places).map(([name, place]) => [place, name]))
    },
    forget: () => known.clear(),
  }
}

/** The stream that a list names, or undefined when its sink has no name any more. */
export function streamNamed(stream: string, names: ReadonlyMap<string, string>): Stream | undefined {
  const { zone, day, place } = partsOf(stream)
  const sink = names.get(place)
  return sink === undefined ? undefined : { zone, day, sink }
}
