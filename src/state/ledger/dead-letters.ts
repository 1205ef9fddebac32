import { randomUUID } from 'node:crypto'
import type { DeadLetter, DeadLetterCount, RefusalReason } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import { onlyStream, streamKey, type Stream } from '../../domain/stream.ts'
import type { Commit, DeadLetters } from '../../ports/store.ts'
import { byText, jsonOf, storedIn, streamOf, textOf, type PartialWrite, type Root } from './root.ts'

type Total = readonly [reason: RefusalReason, count: number, bytes: number]

/** Of the dead letters of one stream. `change` is another one after each change, so that no totals come back. */
interface Totals {
  readonly change: string
  readonly reasons: readonly Total[]
}

/** What is kept of a dead letter; stream and event are in its key. */
type Kept = readonly [reason: RefusalReason, answer: string, at: number, event: string]

export function createDeadLetters(root: Root): DeadLetters {
  async function counts(): Promise<DeadLetterCount[]> {
    await root.refresh()
    const { names } = root
    const counts = await root.readAll('deadLetterTotals', (key, value) => {
      const stream = streamOf(key, names)
      const { reasons } = jsonOf<Totals>(value)
      return stream && reasons.map(([reason, count, bytes]) => ({ ...stream, reason, count, bytes }))
    })
    return [...counts.values()].flat()
  }

  const deadLettersOf = (stream: Stream): Promise<Map<string, DeadLetter>> =>
    root.under(stream, (key) =>
      root.readAll(deadLettersIn(key), (each, value) => deadLetterOf(stream, each, value)),
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
        const found = await root.readMany(deadLettersIn(key), identities.map(deadLetterKey))
        return [...found].map(([each, value]) => deadLetterOf(stream, each, value))
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
  root: Root,
  key: string,
  { deadLetters, removedDeadLetters = [] }: Pick<Commit, 'deadLetters' | 'removedDeadLetters'>,
  { sink, maxBytes }: { readonly sink: string; readonly maxBytes: number },
): Promise<PartialWrite> {
  if (deadLetters.length === 0 && removedDeadLetters.length === 0) return {}
  const [collection, bytesKey] = [deadLettersIn(key), `deadLetterBytes/${storedIn(key)}`]
  const { found } = await root.records.read({ deadLetterTotals: [key], numbers: [bytesKey] })
  const [is, ofSink] = [found.deadLetterTotals[0], found.numbers[0]]
  // Without totals there is nothing to remove. Absence may come back, so no late write may depend on it.
  if (is === undefined && deadLetters.length === 0) return {}
  const added = new Map(
    deadLetters.map((each): [string, Kept] => [
      deadLetterKey(each),
      [each.reason, each.answer, each.at, each.event],
    ]),
  )
  const removed = removedDeadLetters.map(deadLetterKey).filter((each) => !added.has(each))
  const stored = await root.readMany(collection, [...added.keys(), ...removed])
  const changes = [
    ...[...stored].map(([each, value]): Total => {
      const kept = jsonOf<Kept>(value)
      return [kept[0], -1, -bytesOf(each, kept)]
    }),
    ...[...added].map(([each, kept]): Total => [kept[0], 1, bytesOf(each, kept)]),
  ]
  const growth = changes.reduce((sum, [, , bytes]) => sum + bytes, 0)
  const room = maxBytes - growth
  const ofSinkBytes = ofSink === undefined ? 0 : Number(textOf(ofSink))
  if (growth > 0 && ofSinkBytes > room) {
    const text = `the dead letters of sink ${sink} would take ${ofSinkBytes + growth} bytes, more than the limit of ${maxBytes} for each sink`
    const remedy = 'replay or drop some, or raise deadLetters.maxBytes'
    throw new Failure('stop', 'dead_letters_full', `${text}: ${remedy}`)
  }
  const after: Totals = {
    change: randomUUID(),
    reasons: summed([...(jsonOf<Totals>(is)?.reasons ?? []), ...changes]),
  }
  const isEmpty = after.reasons.length === 0
  return {
    when: [
      { collection: 'deadLetterTotals', key, is },
      ...(growth > 0 ? [{ collection: 'numbers', key: bytesKey, atMost: room }] : []),
    ],
    add: [['numbers', bytesKey, growth]],
    remove: [
      ...removed.map((each) => [collection, each] as const),
      ...(isEmpty ? [['deadLetterTotals', key] as const] : []),
    ],
    put: [
      ...[...added].map(([each, kept]) => [collection, each, JSON.stringify(kept)] as const),
      ...(isEmpty ? [] : [['deadLetterTotals', key, JSON.stringify(after)] as const]),
    ],
  }
}

/** Drops all dead letters of the streams with these keys. */
export async function forgetDeadLetters(root: Root, isOf: (key: string) => boolean): Promise<void> {
  const all = await root.readAll('deadLetterTotals', (key, value) => (isOf(key) ? value : undefined))
  for (const [key, is] of all) {
    const bytes = jsonOf<Totals>(is).reasons.reduce((sum, [, , each]) => sum + each, 0)
    // Where another process has changed them meanwhile, the sink is still in use: the next call drops them.
    await root.records.write({
      when: [{ collection: 'deadLetterTotals', key, is }],
      add: [['numbers', `deadLetterBytes/${storedIn(key)}`, -bytes]],
      drop: [deadLettersIn(key)],
      remove: [['deadLetterTotals', key]],
    })
  }
}

function summed(totals: readonly Total[]): Total[] {
  return [...Map.groupBy(totals, ([reason]) => reason)].flatMap(([reason, own]) => {
    const [count, bytes] = own.reduce(
      ([count, bytes], [, more, size]) => [count + more, bytes + size],
      [0, 0],
    )
    return count === 0 ? [] : [[reason, count, bytes] as const]
  })
}
