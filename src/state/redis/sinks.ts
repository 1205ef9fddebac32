import type { KnownSink } from '../../domain/known-sink.ts'
import type { Catalogue } from '../../ports/store.ts'
import { namesIn } from '../sink-names.ts'
import type { Keys } from './keys.ts'
import type { Link } from './server/link.ts'

export function createSinks(
  link: Link,
  { sinks, formerNames }: Keys,
): Pick<Catalogue, 'sinks' | 'rememberSinks'> {
  return {
    async sinks() {
      const places = await link.run((client) => client.hgetall(sinks))
      const former = await link.run((client) => client.hgetall(formerNames))
      return [...new Set([...Object.keys(places), ...Object.keys(former)])].sort().map((name): KnownSink => {
        const [type = '', ...place] = (places[name] ?? '').split(' ')
        return { name, type, place: place.join(' '), formerly: namesIn(former[name] ?? '') }
      })
    },
    async rememberSinks(known) {
      const values = known.flatMap(({ name, type, place }) => [name, `${type} ${place}`])
      if (values.length > 0) await link.run((client) => client.hset(sinks, ...values))
    },
  }
}
