import type { DeadLetter } from '../../domain/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { CheckpointStore, DeadLetterCount } from '../../ports.ts'
import type { Announcements } from './announcements.ts'
import { listOf, numberOf } from './answer.ts'
import { groupOf, letterField, readKey, readLetter, type LetterKey } from './dead-letter-text.ts'
import type { Keys, Place } from './keys.ts'
import type { Link } from './link.ts'
import { streamNamed, type SinkNames } from './sink-names.ts'

const listedAtOnce = 100
const removedAtOnce = 500

export interface DeadLetters {
  readonly list: CheckpointStore['deadLetters']
  readonly counts: CheckpointStore['deadLetterCounts']
  readonly remove: CheckpointStore['removeDeadLetters']
  readonly streams: CheckpointStore['deadLetterStreams']
  readonly keys: CheckpointStore['deadLetterKeys']
  readonly some: CheckpointStore['deadLettersOf']
}

interface Keeper {
  readonly place: Place
  readonly stream: Stream
}

export function createDeadLetters(
  link: Link,
  keys: Keys,
  names: SinkNames,
  announcements: Announcements,
): DeadLetters {
  /** The streams that keep letters, or may: one that is about to is among them. */
  async function keepers(): Promise<Keeper[]> {
    const fields = await link.run((client) => client.hkeys(keys.letters))
    const known = await names.all()
    const streams = new Set(fields.map((field) => field.slice(2)))
    return [...streams].flatMap((text) => {
      const stream = streamNamed(text, known)
      return stream === undefined ? [] : [{ stream, place: keys.place(text) }]
    })
  }

  async function groupsOf(place: Place): Promise<{ group: string; count: number; bytes: number }[]> {
    const fields = await link.run((client) => client.hgetall(place.letterTotals))
    return Object.entries(fields).flatMap(([field, count]) => {
      if (!field.startsWith('c ')) return []
      const group = field.slice(2)
      return [{ group, count: Number(count), bytes: Number(fields[`b ${group}`] ?? 0) }]
    })
  }

  async function* lettersOf({ place, stream }: Keeper): AsyncGenerator<DeadLetter> {
    // A field may come twice while the hash grows.
    const told = new Set<string>()
    let cursor = '0'
    do {
      const from = cursor
      const [next, found] = await link.run((client) =>
        client.hscan(place.letters, from, 'COUNT', listedAtOnce),
      )
      for (let index = 0; index < found.length; index += 2) {
        const field = found[index]!
        if (told.has(field)) continue
        told.add(field)
        yield readLetter(field, found[index + 1]!, stream)
      }
      cursor = next
    } while (cursor !== '0')
  }

  /** The letters that were not there. */
  async function removeFrom({ place, stream }: Keeper, letters: readonly LetterKey[]): Promise<LetterKey[]> {
    const left: LetterKey[] = []
    for (let from = 0; from < letters.length; from += removedAtOnce) {
      const some = letters.slice(from, from + removedAtOnce)
      const fields = some.map((letter) => letterField(letter, stream))
      const both = [place.letters, place.letterTotals]
      const found = new Set(listOf(await link.script('remove-letters', both, fields)).map(numberOf))
      left.push(...some.filter((_, index) => !found.has(index + 1)))
    }
    if (left.length < letters.length) await announcements.complete(place)
    return left
  }

  return {
    async list(sink) {
      const letters: DeadLetter[] = []
      for (const keeper of await keepers())
        for await (const letter of lettersOf(keeper))
          if (sink === undefined || letter.sink === sink) letters.push(letter)
      return letters.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    },
    async counts() {
      const totals = new Map<string, { sink: string; reason: string; count: number; bytes: number }>()
      for (const { place, stream } of await keepers()) {
        for (const { group, count, bytes } of await groupsOf(place)) {
          const { sink, reason } = groupOf(group, stream)
          const key = `${sink} ${reason}`
          const total = totals.get(key) ?? { sink, reason, count: 0, bytes: 0 }
          total.count += count
          total.bytes += bytes
          totals.set(key, total)
        }
      }
      return [...totals.keys()].sort().map((key) => totals.get(key)!)
    },
    async streams() {
      const found: DeadLetterCount[] = []
      for (const { place, stream } of await keepers())
        for (const { group, count, bytes } of await groupsOf(place))
          found.push({ ...stream, ...groupOf(group, stream), count, bytes })
      return found
    },
    async keys(stream) {
      const place = await names.find(stream)
      if (place === undefined) return []
      const fields = await link.run((client) => client.hkeys(place.letters))
      return fields.map((field) => readKey(field))
    },
    async some(stream, keys) {
      const place = keys.length === 0 ? undefined : await names.find(stream)
      if (place === undefined) return []
      const fields = keys.map((key) => letterField({ ...stream, ...key }, stream))
      const texts = await link.run((client) => client.hmget(place.letters, ...fields))
      return texts.flatMap((text, index) => (text === null ? [] : [readLetter(fields[index]!, text, stream)]))
    },
    async remove(letters) {
      if (letters.length === 0) return 0
      const known = await keepers()
      const byStream = Map.groupBy(letters, streamOf)
      let left: LetterKey[] = []
      for (const keeper of known) {
        const own = byStream.get(streamOf(keeper.stream))
        byStream.delete(streamOf(keeper.stream))
        if (own !== undefined) left.push(...(await removeFrom(keeper, own)))
      }
      left.push(...[...byStream.values()].flat())
      // A letter that another stream's commit brought lies with that stream.
      for (const keeper of known) if (left.length > 0) left = await removeFrom(keeper, left)
      return letters.length - left.length
    },
  }
}

function streamOf({ zone, day, sink }: Pick<LetterKey, 'zone' | 'day' | 'sink'>): string {
  return `${zone}/${day}/${sink}`
}
