import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { exactJson } from '../../src/domain/text/decode.ts'
import { isObject, jsonText, type Json } from '../../src/domain/text/json.ts'
import { waitFor } from '../setup/wait-for.ts'

// What a query shows of an event, held against what was shipped.

/** The fields of a row: nested ones have dotted names, and every value is text. */
export type Row = Readonly<Record<string, string>>

/**
 * Waits until there is a row for each event, and compares all fields. `expected` has what a row should hold; rows have
 * no field for an empty value, and may hold an object as JSON text.
 */
export async function expectShown(
  rows: () => Promise<readonly Row[]>,
  events: readonly Event[],
  expected: (event: Event) => Json,
): Promise<void> {
  let found: readonly Row[] = []
  const isFound = async () => (found = await rows()).length >= events.length
  const unseen = () => events.filter((event) => !found.some((row) => isOf(event, row))).map(({ id }) => id)
  await waitFor(isFound, { everyMs: 300, timeoutMs: 30_000, what: () => `rows of ${unseen().join(', ')}` })
  expect(found).toHaveLength(events.length)
  const left = new Set(found)
  const wrong: string[] = []
  for (const event of events) {
    const wanted = expected(event)
    const candidates = [...left].filter((row) => isOf(event, row))
    const differences = candidates.map((row) => ({ row, found: differencesIn(wanted, row) }))
    const best = differences.toSorted((one, other) => one.found.length - other.found.length)[0]
    if (best === undefined) wrong.push(`${event.id}: no row`)
    else if (best.found.length > 0) wrong.push(`${event.id}: ${best.found.join('; ')}`)
    if (best !== undefined) left.delete(best.row)
  }
  expect(wrong.slice(0, 20)).toEqual([])
}

/** Its id is somewhere in the row, as it is or percent-encoded. */
function isOf({ id }: Event, row: Row): boolean {
  const forms = [id, encodeURIComponent(id)]
  return Object.values(row).some((text) => forms.some((form) => text.includes(form)))
}

function differencesIn(wanted: Json, row: Row): string[] {
  const seen = new Set<string>()
  const missing = walk(wanted, '', row, seen)
  // An event without a time has that of its arrival.
  const added = Object.keys(row).filter((name) => !seen.has(name) && name !== '_time')
  return [...missing, ...added.map((name) => `${name} was not sent: ${row[name]!.slice(0, 200)}`)]
}

function walk(value: Json, name: string, row: Row, seen: Set<string>): string[] {
  const held = name === '' ? undefined : row[name]
  if (held !== undefined) {
    seen.add(name)
    if (isSame(value, held)) return []
    return [`${name} is ${JSON.stringify(held.slice(0, 300))}, not ${jsonText(value).slice(0, 300)}`]
  }
  if (value === null || value === '') return []
  if (!isObject(value)) return [`${name} is missing: ${jsonText(value).slice(0, 200)}`]
  return Object.entries(value).flatMap(([key, each]) =>
    walk(each, name === '' ? key : `${name}.${key}`, row, seen),
  )
}

function isSame(value: Json, text: string): boolean {
  if (typeof value === 'string') return value === text
  if (isObject(value) || Array.isArray(value)) return isDeepStrictEqual(exactJson(text), value)
  return jsonText(value) === text
}
