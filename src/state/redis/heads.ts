import type { Keys, Place } from './keys.ts'
import type { Link } from './link.ts'
import { headBytes, readHead, type Head } from './record.ts'

const readAtOnce = 100

export interface Listed {
  readonly place: Place
  /** Undefined for a stream of which the list is all that is left. */
  readonly head: Head | undefined
}

/** The streams of the list, a few at a time, with what their records begin with. */
export async function* readHeads(link: Link, keys: Keys): AsyncGenerator<readonly Listed[]> {
  const streams = await link.run((client) => client.smembers(keys.streams))
  for (let from = 0; from < streams.length; from += readAtOnce) {
    const places = streams.slice(from, from + readAtOnce).map(keys.place)
    yield await Promise.all(
      places.map(async (place): Promise<Listed> => {
        const head = await link.run((client) => client.getrangeBuffer(place.record, 0, headBytes - 1))
        return { place, head: head.byteLength === 0 ? undefined : readHead(head) }
      }),
    )
  }
}
