import { randomUUID } from 'node:crypto'
import type { DeadLetter, DeadLetterCount, RefusalReason } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import { onlyStream, streamKey, type Stream } from '../../domain/stream.ts'
import type { Records } from '../../ports/records.ts'
import type { Commit, DeadLetters } from '../../ports/store.ts'
import type { LedgerDeps } from './streams.ts'
import { storedIn, streamOf } from './root.ts'
import { byText, jsonOf, readAll, readMany, textOf, type Part } from './values.ts'

/** Of the dead letters of one stream. `change` is another one after each change, so that no totals come back. */
interface Totals {
  readonly change: string
  readonly reasons: readonly (readonly [reason: RefusalReason, count: number, bytes: number])[]
}

/** What is kept of a dead letter; stream and event are in its key. */
type Kept = readonly [reason: RefusalReason, answer: string, at: number, event: string]

export function createDeadLetters({ records, root }: LedgerDeps): DeadLetters {
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
      readAll(records, deadLettersIn(key), (each, value) => deadLetterOf(stream, each, value)),
    )

  return {
    async list() {
      const streams = new Map((await counts()).map((each) => [streamKey(each), onlyStream(each)]))
      const found: DeadLetter[][] = []
      for (const stream of streams.values()) found.push([...(await deadLettersOf(stream)).values()])
      return found.flat().sort((a, b) => a.at - b.at || byText(a.id, b.id))
    },
    counts,
    keys: async (stream) => [...(await deadLettersOf(stream)).keys()].map(identityOf),
    read: (stream, identities) =>
      root.under(stream, async (key) => {
        const keys = identities.map(deadLetterKey)
        const values = await readMany(records, deadLettersIn(key), keys)
        return keys.flatMap((each, index) => {
          const value = values[index]
          return value === undefined ? [] : [deadLetterOf(stream, each, value)]
        })
      }),
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

function deadLetterOf({ zone, day, sink }: Stream, key: string, value: Uint8Array): DeadLetter {
  const [reason, answer, at, event] = jsonOf<Kept>(value)
  return { zone, day, sink, ...identityOf(key), reason, answer, at, event }
}

/** Size of a dead letter, as counted for the limit. */
function bytesOf(key: string, [, answer, , event]: Kept): number {
  return Buffer.byteLength(JSON.stringify(identityOf(key).id)) + Buffer.byteLength(answer + event)
}

/**
 * Adds and removes dead letters of one stream. One that is added replaces that of the same event, and is not removed.
 * The totals as they were read are a condition: whoever changes dead letters of the stream changes them. `maxBytes`: of
 * all dead letters of the sink. Throws `dead_letters_full`.
 */
export async function changeDeadLetters(
  records: Records,
  key: string,
  { deadLetters, removedDeadLetters = [] }: Pick<Commit, 'deadLetters' | 'removedDeadLetters'>,
  { sink, maxBytes }: { readonly sink: string; readonly maxBytes: number },
): Promise<Part> {
  if (deadLetters.length === 0 && removedDeadLetters.length === 0) return {}
  const [collection, bytesKey] = [deadLettersIn(key), `deadLetterBytes/${storedIn(key)}`]
  const { found } = await records.read({ deadLetterTotals: [key], numbers: [bytesKey] })
  const [is, ofSink] = [found.deadLetterTotals[0], found.numbers[0]]
  // Without totals there is nothing to remove. Absence may come back, so no late write may depend on it.
  if (is === undefined && deadLetters.length === 0) return {}
  const added = new Map(
    deadLetters.map((each): [string, Kept] => [
      deadLetterKey(each),
      [each.reason, each.answer, each.at, each.event],
    ]),
  )
  const removed = new Set(removedDeadLetters.map(deadLetterKey).filter((each) => !added.has(each)))
  const totals = new Map<RefusalReason, { number: number; bytes: number }>()
  let growth = 0
  const count = (reason: RefusalReason, number: number, bytes: number): void => {
    const known = totals.get(reason) ?? { number: 0, bytes: 0 }
    totals.set(reason, { number: known.number + number, bytes: known.bytes + bytes })
    growth += bytes
  }
  const gone: string[] = []
  const keys = [...added.keys(), ...removed]
  for (const [index, value] of (await readMany(records, collection, keys)).entries()) {
    if (value === undefined) continue
    const kept = jsonOf<Kept>(value)
    count(kept[0], -1, -bytesOf(keys[index]!, kept))
    if (removed.has(keys[index]!)) gone.push(keys[index]!)
  }
  for (const [each, kept] of added) count(kept[0], 1, bytesOf(each, kept))
  const [grown, room] = [growth, maxBytes - growth]
  const ofSinkBytes = ofSink === undefined ? 0 : Number(textOf(ofSink))
  if (grown > 0 && ofSinkBytes > room) {
    const text = `the dead letters of sink ${sink} would take ${ofSinkBytes + grown} bytes, more than the limit of ${maxBytes} for each sink`
    const remedy = 'replay or drop some, or raise deadLetters.maxBytes'
    throw new Failure('stop', 'dead_letters_full', `${text}: ${remedy}`)
  }
  for (const [reason, number, bytes] of is === undefined ? [] : jsonOf<Totals>(is).reasons)
    count(reason, number, bytes)
  const reasons = [...totals].flatMap(([reason, { number, bytes }]) =>
    number === 0 ? [] : [[reason, number, bytes] as const],
  )
  const after: Totals = { change: randomUUID(), reasons }
  return {
    when: [
      { collection: 'deadLetterTotals', key, is },
      ...(grown > 0 ? [{ collection: 'numbers', key: bytesKey, atMost: room }] : []),
    ],
    add: [['numbers', bytesKey, grown]],
    remove: [
      ...gone.map((each) => [collection, each] as const),
      ...(reasons.length === 0 ? [['deadLetterTotals', key] as const] : []),
    ],
    put: [
      ...[...added].map(([each, kept]) => [collection, each, JSON.stringify(kept)] as const),
      ...(reasons.length === 0 ? [] : [['deadLetterTotals', key, JSON.stringify(after)] as const]),
    ],
  }
}
