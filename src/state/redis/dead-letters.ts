import type { DeadLetter, RefusalReason } from '../../domain/delivery.ts'
import type { Identity } from '../../domain/event.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { DeadLetterCount } from '../../domain/dead-letter-count.ts'
import type { DeadLetters } from '../../ports/dead-letters.ts'
import { letterBytes } from '../commit-checks.ts'
import { numberOf } from './answer.ts'
import { streamOf, type Keys } from './keys.ts'
import type { Argument, Link } from './link.ts'

const listedAtOnce = 100
const removedAtOnce = 500

export function createDeadLetters(link: Link, keys: Keys): DeadLetters {
  async function counts(): Promise<DeadLetterCount[]> {
    const totals = await link.run((client) => client.hgetall(keys.letters))
    return Object.entries(totals).map(([field, total]) => {
      const at = field.indexOf('/')
      const [count, bytes] = total.split(' ').map(Number)
      const reason = field.slice(0, at) as RefusalReason
      return { ...streamOf(field.slice(at + 1)), reason, count: count ?? 0, bytes: bytes ?? 0 }
    })
  }

  async function* lettersOf(stream: Stream): AsyncGenerator<DeadLetter> {
    const key = keys.of(stream).letters
    // A field may come twice while the hash grows.
    const told = new Set<string>()
    let cursor = '0'
    do {
      const from = cursor
      const [next, found] = await link.run((client) => client.hscan(key, from, 'COUNT', listedAtOnce))
      for (let index = 0; index < found.length; index += 2) {
        const field = found[index]!
        if (told.has(field)) continue
        told.add(field)
        yield readLetter(field, found[index + 1]!, stream)
      }
      cursor = next
    } while (cursor !== '0')
  }

  return {
    async list(sink) {
      const streams = new Map((await counts()).map((each) => [streamKey(each), each]))
      const letters: DeadLetter[] = []
      for (const { zone, day, sink: name } of streams.values())
        if (sink === undefined || name === sink)
          for await (const letter of lettersOf({ zone, day, sink: name })) letters.push(letter)
      return letters.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    },
    counts,
    async keys(stream) {
      const fields = await link.run((client) => client.hkeys(keys.of(stream).letters))
      return fields.map(readKey)
    },
    async read(stream, identities) {
      if (identities.length === 0) return []
      const fields = identities.map(letterField)
      const texts = await link.run((client) => client.hmget(keys.of(stream).letters, ...fields))
      return texts.flatMap((text, index) => (text === null ? [] : [readLetter(fields[index]!, text, stream)]))
    },
    async remove(letters) {
      let removed = 0
      for (const [stream, own] of Map.groupBy(letters, streamKeyOf))
        for (let from = 0; from < own.length; from += removedAtOnce) {
          const fields = own.slice(from, from + removedAtOnce).map(letterField)
          const all = [keys.meta, keys.letters, keys.of(streamOf(stream)).letters]
          removed += numberOf(await link.script('remove-letters', all, [stream, ...fields]))
        }
      return removed
    },
  }
}

function streamKeyOf({ zone, day, sink }: Pick<DeadLetter, 'zone' | 'day' | 'sink'>): string {
  return `${zone}/${day}/${sink}`
}

/** Names the letter among those of its stream. */
export function letterField({ id, time }: Identity): string {
  return JSON.stringify([id, time ?? ''])
}

/** A letter as the script of a commit takes it: event, reason, bytes, text. */
export function letterArguments(letter: DeadLetter): Argument[] {
  const { reason, answer, at, event } = letter
  return [letterField(letter), reason, letterBytes(letter), JSON.stringify([reason, answer, at, event])]
}

/** `text` is what the script keeps: size, reason, a line break and the letter. */
function readLetter(field: string, text: string, { zone, day, sink }: Stream): DeadLetter {
  const letter = text.slice(text.indexOf('\n') + 1)
  const [reason, answer, at, event] = JSON.parse(letter) as [RefusalReason, string, number, string]
  return { zone, day, sink, ...readKey(field), reason, answer, at, event }
}

/** Whose letter a field names. */
function readKey(field: string): Identity {
  const [id, time] = JSON.parse(field) as [string, string]
  return { id, ...(time === '' ? {} : { time }) }
}
