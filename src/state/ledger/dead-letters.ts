import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { DeadLetter, DeadLetterCount, RefusalReason } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import { onlyStream, streamKey, type Stream } from '../../domain/stream.ts'
import type { Records } from '../../ports/records.ts'
import type { Commit, DeadLetters } from '../../ports/store.ts'
import type { LedgerDeps } from './streams.ts'
import { keyOf, streamOf } from './root.ts'
import {
  again,
  inParts,
  jsonOf,
  keysAtOnce,
  readAll,
  readOne,
  textOf,
  untilDecided,
  type Part,
} from './values.ts'

/** Of the dead letters of one stream. `change` is another one after each change, so that no totals come back. */
interface Totals {
  readonly change: string
  readonly reasons: readonly (readonly [reason: RefusalReason, count: number, bytes: number])[]
}

export function createDeadLetters({ records, clock, root }: LedgerDeps): DeadLetters {
  async function counts(): Promise<DeadLetterCount[]> {
    await root.refresh()
    const { names } = root
    const counts = await readAll(records, 'deadLetterTotals', (key, value) => {
      const stream = streamOf(key, names)
      const { reasons } = jsonOf<Totals>(value)
      return stream && reasons.map(([reason, count, bytes]) => ({ ...stream, reason, count, bytes }))
    })
    return [...counts.values()].flat()
  }

  const deadLettersOf = (stream: Stream): Promise<Map<string, DeadLetter>> =>
    root.under(stream, (key) =>
      readAll(records, deadLettersIn(key), (each, value) => readDeadLetter(stream, each, value)),
    )

  return {
    async list() {
      const streams = new Map((await counts()).map((each) => [streamKey(each), onlyStream(each)]))
      const found: DeadLetter[][] = []
      for (const stream of streams.values()) found.push([...(await deadLettersOf(stream)).values()])
      return found.flat().sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    },
    counts,
    keys: async (stream) => [...(await deadLettersOf(stream)).keys()].map(identityOf),
    read: (stream, identities) =>
      root.under(stream, async (key) => {
        const keys = identities.map(deadLetterKey)
        const collection = deadLettersIn(key)
        const values = (await records.read({ [collection]: keys })).found[collection]!
        return keys.flatMap((each, index) => {
          const value = values[index]
          return value === undefined ? [] : [readDeadLetter(stream, each, value)]
        })
      }),
    async remove(deadLetters) {
      let removed = 0
      for (const own of Map.groupBy(deadLetters, ({ zone, day, sink }) => `${zone}/${day}/${sink}`).values())
        for (const some of inParts(own, keysAtOnce)) {
          const { zone, day, sink } = some[0]!
          removed += await untilDecided(clock, async () => {
            const { names } = root
            const stream = { zone, day: day as Stream['day'], sink }
            const place = {
              key: keyOf(stream, names),
              sink: names.storedOf(sink),
              deadLetterMaxBytes: Infinity,
            }
            const changed = { deadLetters: [], removedDeadLetters: some }
            const { when = [], ...part } = await changeDeadLetters(records, place, changed)
            const { outcome } = await records.write({ ...part, when: [names.condition, ...when] })
            if (outcome === 'done')
              return part.remove?.filter(([of]) => of === deadLettersIn(place.key)).length ?? 0
            await root.refresh()
            return again
          })
          await setImmediate()
        }
      return removed
    },
  }
}

function deadLettersIn(key: string): string {
  return `deadLetters:${key}`
}

function deadLetterKey({ id, time }: Identity): string {
  return JSON.stringify([id, time ?? ''])
}

/** The event that a key names. */
function identityOf(key: string): Identity {
  const [id, time] = JSON.parse(key) as [string, string]
  return { id, ...(time === '' ? {} : { time }) }
}

/** Size, reason, a line break and the dead letter: the first line is enough to count it. */
function deadLetterText(deadLetter: DeadLetter): string {
  const { reason, answer, at, event } = deadLetter
  return `${deadLetterBytesOf(deadLetter)} ${reason}\n${JSON.stringify([answer, at, event])}`
}

function readDeadLetter({ zone, day, sink }: Stream, key: string, value: Uint8Array): DeadLetter {
  const text = textOf(value)
  const [answer, at, event] = JSON.parse(text.slice(text.indexOf('\n') + 1)) as [string, number, string]
  return { zone, day, sink, ...identityOf(key), reason: measured(value).reason, answer, at, event }
}

function measured(value: Uint8Array): { readonly bytes: number; readonly reason: RefusalReason } {
  const [bytes, reason] = textOf(value.subarray(0, value.indexOf(10))).split(' ')
  return { bytes: Number(bytes), reason: reason as RefusalReason }
}

/** Size of a dead letter, as counted for the limit. */
function deadLetterBytesOf({ id, answer, event }: Pick<DeadLetter, 'id' | 'answer' | 'event'>): number {
  return Buffer.byteLength(JSON.stringify(id)) + Buffer.byteLength(answer) + Buffer.byteLength(event)
}

export function deadLettersFull(sink: string, bytes: number, maxBytes: number): Failure {
  const text = `the dead letters of sink ${sink} would take ${bytes} bytes, more than the limit of ${maxBytes} for each sink`
  const remedy = 'replay or drop some, or raise deadLetters.maxBytes'
  return new Failure('stop', 'dead_letters_full', `${text}: ${remedy}`)
}

/**
 * Adds and removes dead letters of one stream. One that is added replaces that of the same event, and is not removed.
 * The totals as they were read are the condition: whoever changes dead letters changes them.
 */
export async function changeDeadLetters(
  records: Records,
  place: { readonly key: string; readonly sink: string; readonly deadLetterMaxBytes: number },
  { deadLetters, removedDeadLetters = [] }: Pick<Commit, 'deadLetters' | 'removedDeadLetters'>,
): Promise<Part> {
  if (deadLetters.length === 0 && removedDeadLetters.length === 0) return {}
  const { key, sink, deadLetterMaxBytes } = place
  const collection = deadLettersIn(key)
  const is = await readOne(records, 'deadLetterTotals', key)
  const added = new Map(deadLetters.map((each) => [deadLetterKey(each), deadLetterText(each)]))
  const removed = new Set(removedDeadLetters.map(deadLetterKey).filter((each) => !added.has(each)))
  // Without totals there is nothing to remove. Absence may come back, so no late write may depend on it.
  if (is === undefined && deadLetters.length === 0) return {}
  const before = is === undefined ? [] : jsonOf<Totals>(is).reasons
  const totals = new Map(before.map(([reason, number, bytes]) => [reason, { number, bytes }]))
  let growth = 0
  const count = (value: Uint8Array, sign: 1 | -1): void => {
    const { bytes, reason } = measured(value)
    const known = totals.get(reason) ?? { number: 0, bytes: 0 }
    totals.set(reason, { number: known.number + sign, bytes: known.bytes + sign * bytes })
    growth += sign * bytes
  }
  const gone: string[] = []
  for (const keys of inParts([...added.keys(), ...removed], keysAtOnce)) {
    const values = (await records.read({ [collection]: keys })).found[collection]!
    for (const [index, value] of values.entries()) {
      if (value === undefined) continue
      count(value, -1)
      if (removed.has(keys[index]!)) gone.push(keys[index]!)
    }
  }
  for (const text of added.values()) count(Buffer.from(text), 1)
  const reasons = [...totals].flatMap(([reason, { number, bytes }]) =>
    number === 0 ? [] : [[reason, number, bytes] as const],
  )
  const after: Totals = { change: randomUUID(), reasons }
  const limit = growth > 0 && { most: deadLetterMaxBytes }
  return {
    when: [{ collection: 'deadLetterTotals', key, is }],
    add:
      growth === 0 ? [] : [{ collection: 'numbers', key: `deadLetterBytes/${sink}`, by: growth, ...limit }],
    remove: [
      ...gone.map((each) => [collection, each] as const),
      ...(reasons.length === 0 ? [['deadLetterTotals', key] as const] : []),
    ],
    put: [
      ...[...added].map(([each, text]) => [collection, each, text] as const),
      ...(reasons.length === 0 ? [] : [['deadLetterTotals', key, JSON.stringify(after)] as const]),
    ],
  }
}
