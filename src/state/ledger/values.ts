import type { Condition, Records, Write } from '../../ports/records.ts'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'

/** Keys that one read may ask for, and records that one write outside of a commit changes. */
export const keysAtOnce = 500

export function textOf(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what it wrote
export function jsonOf<T>(value: Uint8Array): T {
  return JSON.parse(textOf(value)) as T
}

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function* inParts<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size)
}

/** The records of any number of keys, in their order. Only those of a part are of one moment. */
export async function readMany(
  records: Records,
  collection: string,
  keys: readonly string[],
): Promise<(Uint8Array | undefined)[]> {
  const parts = [...inParts(keys, keysAtOnce)].map(
    async (some) => (await records.read({ [collection]: some })).found[collection]!,
  )
  return (await Promise.all(parts)).flat()
}

export async function readOne(
  records: Records,
  collection: string,
  key: string,
): Promise<Uint8Array | undefined> {
  return (await readMany(records, collection, [key]))[0]
}

/** The values of a whole collection by key, without those that `valueOf` knows nothing of. */
export async function readAll<Value>(
  records: Records,
  collection: string,
  valueOf: (key: string, value: Uint8Array) => Value | undefined,
): Promise<Map<string, Value>> {
  const all = new Map<string, Value>()
  for await (const page of records.scan(collection, keysAtOnce))
    for (const [key, bytes] of page) {
      const value = valueOf(key, bytes)
      if (value !== undefined) all.set(key, value)
    }
  return all
}

/** Parts of a write. */
export type Part = Partial<Write>

/** Replaces records, which are JSON, by what `change` makes of each; undefined leaves one as it is. */
export async function changed<Value>(
  records: Records,
  collection: string,
  keys: readonly string[],
  change: (before: Value | undefined, index: number) => Value | undefined,
): Promise<Required<Pick<Part, 'when' | 'put'>>> {
  const [when, put]: [Condition[], [string, string, string][]] = [[], []]
  const seen = new Set<string>()
  const values = await readMany(records, collection, keys)
  for (const [index, key] of keys.entries()) {
    const is = values[index]
    const value = change(is && jsonOf<Value>(is), index)
    if (value === undefined || seen.has(key)) continue
    seen.add(key)
    when.push({ collection, key, is })
    put.push([collection, key, JSON.stringify(value)])
  }
  return { when, put }
}

/** What a try answers when others changed meanwhile what it had read. */
export const again = Symbol('again')

const maxTries = 20
const maxPauseMs = 10
const never = new AbortController().signal

/**
 * Repeats a try that reads, decides and writes on condition that what it read is still so. Of several that contend one
 * always gets through. Throws `store_unavailable` when others are quicker too often.
 */
export async function untilDecided<T>(clock: Clock, attempt: () => Promise<T | typeof again>): Promise<T> {
  for (let tries = 1; tries <= maxTries; tries++) {
    const decided = await attempt()
    if (decided !== again) return decided
    if (tries > 2) await clock.sleep(Math.random() * maxPauseMs, never)
  }
  throw new Failure(
    'retry',
    'store_unavailable',
    'other processes keep changing what this one wants to change',
  )
}
