import { expect } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { countMinute, packFingerprints, unpackFingerprints } from '../../../src/domain/event/seen.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { ModelStore } from './model.ts'
import { stepMinutes } from './steps.ts'

/** All that can be read of a store is what the model holds. Lists have no order of their own. */
export async function compareWithModel(
  store: Store,
  model: ModelStore,
  streams: readonly Stream[],
): Promise<void> {
  const deadLetters = [...model.deadLetters.values()]
  compareLists(await store.catalogue.checkpoints(), model)
  expect(inOrder(await store.catalogue.gaps())).toEqual(inOrder([...model.gaps.values()]))
  expect(inOrder(await store.deadLetters.list())).toEqual(inOrder(deadLetters))
  const counts = await store.deadLetters.counts()
  const counted = counts.flatMap(({ sink, count }) => Array.from({ length: count }, () => sink))
  expect(counted.sort(byText)).toEqual(deadLetters.map(({ sink }) => sink).sort(byText))
  for (const stream of streams) {
    expect(await store.ledger.read(stream)).toEqual(model.streams.get(streamKey(stream))?.checkpoint)
    await compareSeen(store, model, stream)
  }
}

export function compareLists(listed: readonly Checkpoint[], model: ModelStore): void {
  const checkpoints = [...model.streams.values()].flatMap(({ checkpoint }) =>
    checkpoint === undefined ? [] : [{ ...checkpoint, mark: [] }],
  )
  expect(inOrder(listed)).toEqual(inOrder(checkpoints))
}

async function compareSeen(store: Store, model: ModelStore, stream: Stream): Promise<void> {
  const held = model.streams.get(streamKey(stream))
  expect(await store.ledger.isIndexDropped(stream)).toBe(held?.isIndexDropped ?? false)
  const found = await store.ledger.loadSeen(stream, stepMinutes)
  for (const minute of stepMinutes) {
    const values = unpackFingerprints(found.get(minute) ?? new Uint8Array())
    expect(ascending(values)).toEqual(ascending(held?.seen.get(minute) ?? []))
    expect(found.has(minute)).toBe(values.length > 0)
  }
  const ledger = [...(held?.counted ?? [])]
    .filter(([, values]) => values.length > 0)
    .map(([minute, values]) => countMinute(minute, packFingerprints(values)))
  expect([...(await store.ledger.minutes(stream))].sort(byMinute)).toEqual(ledger.sort(byMinute))
}

function inOrder<T>(values: readonly T[]): T[] {
  return values.toSorted((a, b) => byText(JSON.stringify(sortedKeys(a)), JSON.stringify(sortedKeys(b))))
}

/** The streams of checkpoints come first or last in them: a store need not keep the order of keys. */
function sortedKeys(value: unknown): unknown {
  return Object.entries(value as object).toSorted(([a], [b]) => byText(a, b))
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function byMinute(a: { readonly minute: number }, b: { readonly minute: number }): number {
  return a.minute - b.minute
}

function ascending(values: readonly bigint[]): bigint[] {
  return values.toSorted((a, b) => (a < b ? -1 : 1))
}
