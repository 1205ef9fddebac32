import { expect } from 'vitest'
import { exactJson, leniently } from '../../src/domain/text/decode.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { isObject, jsonText, type Json } from '../../src/domain/text/json.ts'
import { formats } from '../../src/formats/registry.ts'

const native = formats.native()

/** Every text and number of an entry stands in the native line of its event, which nothing has redacted. */
export function expectWhole(received: Json, event: Event): void {
  const line = native.encode(event)
  const texts = leavesOf(exactJson(line)!)
  const isThere = (leaf: string) => {
    const forms = [leaf, JSON.stringify(leaf).slice(1, -1)].map((form) => form.toWellFormed())
    return texts.some((text) => forms.some((form) => text.includes(form)))
  }
  const wanted = isObject(received)
    ? Object.entries(received).flatMap(([name, value]) => leavesIn(name, value, event))
    : leavesOf(received)
  expect(
    wanted.filter((leaf) => !isThere(leaf)),
    line,
  ).toEqual([])
}

function leavesIn(name: string, value: Json, { time }: Event): string[] {
  const isNone = value === null && ['logId', 'timestamp', 'labels', 'log'].includes(name)
  if (isNone || (name === 'timestamp' && time !== undefined)) return []
  return name === 'log' && typeof value === 'string' ? leavesOf(decoded(value)) : leavesOf(value)
}

/** As deep as a log is decoded, with raw control characters and bad escapes. */
function decoded(text: string, levels = 3): Json {
  const value = levels === 0 ? undefined : leniently(text.replace(/^\s+/, ''), exactJson)
  if (typeof value === 'string') return decoded(value, levels - 1)
  const item = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value
  return isObject(item) ? item : text
}

function leavesOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (isObject(value) || Array.isArray(value)) return Object.values(value).flatMap(leavesOf)
  return [jsonText(value)]
}
