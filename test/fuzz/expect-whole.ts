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

/** The object of a log as deep as it is decoded, with raw control characters and bad escapes; else as received. */
function decoded(text: string): Json {
  let value: Json | undefined = text
  for (let level = 0; typeof value === 'string' && level < 3; level++)
    value = leniently(value.replace(/^\s+/, ''), exactJson)
  const item = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value
  return item !== undefined && isObject(item) ? item : text
}

function leavesOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (isObject(value) || Array.isArray(value)) return Object.values(value).flatMap(leavesOf)
  return [jsonText(value)]
}
