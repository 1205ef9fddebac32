import type { DeadLetter, RefusalReason, DeadLetterCount } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { DeadLetters } from '../../ports/store.ts'
import { deadLetterBytes } from '../commit-checks.ts'
import { numberOf } from './server/answer.ts'
import { streamOf, type Keys } from './keys.ts'
import type { Argument, Link } from './server/link.ts'

const listedAtOnce = 100
const removedAtOnce = 500

export function createDeadLetters(link: Link, keys: Keys): DeadLetters {
  async function counts(): Promise<DeadLetterCount[]> {
    const totals = await link.run((client) => client.hgetall(keys.deadLetters))
    return Object.entries(totals).map(([field, total]) => {
      const at = field.indexOf('/')
      const [count, bytes] = total.split(' ').map(Number)
      const reason = field.slice(0, at) as RefusalReason
      return { ...streamOf(field.slice(at + 1)), reason, count: count ?? 0, bytes: bytes ?? 0 }
    })
  }

  async function* deadLettersOf(stream: Stream): AsyncGenerator<DeadLetter> {
    const key = keys.of(stream).deadLetters
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
        yield readDeadLetter(field, found[index + 1]!, stream)
      }
      cursor = next
    } while (cursor !== '0')
  }

  return {
    async list() {
      const streams = new Map((await counts()).map((each) => [streamKey(each), each]))
      const deadLetters: DeadLetter[] = []
      for (const { zone, day, sink } of streams.values())
        for await (const deadLetter of deadLettersOf({ zone, day, sink })) deadLetters.push(deadLetter)
      return deadLetters.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    },
    counts,
    async keys(stream) {
      const fields = await link.run((client) => client.hkeys(keys.of(stream).deadLetters))
      return fields.map(readKey)
    },
    async read(stream, identities) {
      if (identities.length === 0) return []
      const fields = identities.map(deadLetterField)
      const texts = await link.run((client) => client.hmget(keys.of(stream).deadLetters, ...fields))
      return texts.flatMap((text, index) =>
        text === null ? [] : [readDeadLetter(fields[index]!, text, stream)],
      )
    },
    async remove(deadLetters) {
      let removed = 0
      for (const [stream, own] of Map.groupBy(deadLetters, streamKeyOf))
        for (let from = 0; from < own.length; from += removedAtOnce) {
          const fields = own.slice(from, from + removedAtOnce).map(deadLetterField)
          const all = [keys.meta, keys.deadLetters, keys.of(streamOf(stream)).deadLetters]
          removed += numberOf(await link.script('remove-dead-letters', all, [stream, ...fields]))
        }
      return removed
    },
  }
}

function streamKeyOf({ zone, day, sink }: Pick<DeadLetter, 'zone' | 'day' | 'sink'>): string {
  return `${zone}/${day}/${sink}`
}

/** Field of the dead letter in the hash of its stream. */
export function deadLetterField({ id, time }: Identity): string {
  return JSON.stringify([id, time ?? ''])
}

/** A dead letter as arguments of the commit script: event, and the text that `readDeadLetter` reads. */
export function deadLetterArguments(deadLetter: DeadLetter): Argument[] {
  const { reason, answer, at, event } = deadLetter
  const text = JSON.stringify([reason, answer, at, event])
  return [deadLetterField(deadLetter), `${deadLetterBytes(deadLetter)} ${reason}\n${text}`]
}

/** `text`: size, reason, a line break and the dead letter. */
function readDeadLetter(field: string, text: string, { zone, day, sink }: Stream): DeadLetter {
  const deadLetter = text.slice(text.indexOf('\n') + 1)
  const [reason, answer, at, event] = JSON.parse(deadLetter) as [RefusalReason, string, number, string]
  return { zone, day, sink, ...readKey(field), reason, answer, at, event }
}

/** The event that a field names. */
function readKey(field: string): Identity {
  const [id, time] = JSON.parse(field) as [string, string]
  return { id, ...(time === '' ? {} : { time }) }
}
