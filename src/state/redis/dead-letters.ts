import type { DeadLetter } from '../../domain/delivery.ts'
import type { Stream } from '../../domain/stream.ts'
import type { CheckpointStore } from '../../ports.ts'
import type { Announcements } from './announcements.ts'
import { listOf, numberOf } from './answer.ts'
import { groupOf, letterField, readLetter, type LetterKey } from './dead-letter-text.ts'
import type { Keys, Place } from './keys.ts'
import type { Link } from './link.ts'
import { streamNamed, type SinkNames } from './sink-names.ts'

const listedAtOnce = 100
const removedAtOnce = 500

export interface DeadLetters {
  readonly list: CheckpointStore['deadLetters']
  readonly counts: CheckpointStore['deadLetterCounts']
  readonly remove: CheckpointStore['removeDeadLetters']
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
        const fields = await link.run((client) => client.hgetall(place.letterTotals))
        for (const [field, count] of Object.entries(fields)) {
          if (!field.startsWith('c ')) continue
          const group = field.slice(2)
          const { sink, reason } = groupOf(group, stream)
          const key = `${sink} ${reason}`
          const total = totals.get(key) ?? { sink, reason, count: 0, bytes: 0 }
          total.count += Number(count)
          total.bytes += Number(fields[`b ${group}`] ?? 0)
          totals.set(key, total)
        }
      }
      return [...totals.keys()].sort().map((key) => totals.get(key)!)
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
