import type { Event } from '../../domain/event/event.ts'
import {
  joinedNames,
  type Unexpected,
  type UnexpectedKind,
  type UnexpectedNames,
} from '../../domain/event/unexpected.ts'
import { isObject, type Json, type JsonObject } from '../../domain/text/json.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { decodeLog, logObjectOf, receivedEntry } from './to-event.ts'

/** What the formats make use of. */
const knownNames = {
  member: new Set(['logId', 'timestamp', 'log', 'labels']),
  label: new Set('asn country ruleId severity method ruleGroup status serverZone'.split(' ')),
  log: new Set('ServerZoneId Message Url RemoteIp UrlEncodedBody Headers TriggerMatch'.split(' ')),
}
const inAnyCase = (names: ReadonlySet<string>) =>
  new Set([...names, ...[...names].map((name) => name.toLowerCase())])
const labelNames = inAnyCase(knownNames.label)
const logNames = inAnyCase(knownNames.log)

/** The API chooses the names; where it escapes badly, a client may. */
const longestName = 40
const mostOfOne = 10

/** What events of one page are like that `eventsOf` has made. */
export function unexpectedIn(events: readonly Event[]): Unexpected {
  return unexpectedOf(events.map(receivedEntry), (index) => events[index]!.timeMs !== undefined)
}

/** Of entries of one page. As expected, they cost a glance at their names, and the decoding of one log. */
export function unexpectedOf(entries: readonly Json[], hasTime: (index: number) => boolean): Unexpected {
  let names: UnexpectedNames = {}
  const counts: { -readonly [Kind in UnexpectedKind]?: number } = {}
  const note = (kind: UnexpectedKind, found: readonly string[]) => {
    counts[kind] = (counts[kind] ?? 0) + 1
    const told = found.slice(0, mostOfOne).map((name) => printable(name, longestName))
    if (told.some((name) => names[kind]?.includes(name) !== true))
      names = joinedNames(names, { [kind]: told })
  }
  for (const [index, entry] of entries.entries()) {
    if (!isObject(entry)) {
      note('member', [`${shapeOf(entry)} in place of an entry`])
      continue
    }
    const members = unknownIn(entry, knownNames.member)
    if (members !== undefined) note('member', members)
    const { labels, timestamp } = entry
    if (!isObject(labels)) note('labels', [shapeOf(labels)])
    else if (!hasAny(labels, labelNames)) note('labels', Object.keys(labels))
    if (!hasTime(index)) note('time', [shapeOf(timestamp)])
  }
  if (!entries.some((entry) => hasLog(entry) && isKnownLog(entry['log'])))
    for (const entry of entries) if (hasLog(entry)) note('log', namesOfLog(entry['log']))
  return { names, counts }
}

function unknownIn(object: object, expected: ReadonlySet<string>): string[] | undefined {
  let unknown: string[] | undefined
  for (const name in object) if (!expected.has(name)) (unknown ??= []).push(name)
  return unknown
}

/** In any case, as events are read; true of an object without names, too. */
function hasAny(object: object, expected: ReadonlySet<string>): boolean {
  let isEmpty = true
  for (const name in object) {
    if (expected.has(name) || expected.has(name.toLowerCase())) return true
    isEmpty = false
  }
  return isEmpty
}

function hasLog(entry: Json): entry is JsonObject {
  return isObject(entry) && (entry['log'] ?? '') !== ''
}

function isKnownLog(log: Json | undefined): boolean {
  return hasAny(logObjectOf(decodeLog(log)), logNames)
}

function namesOfLog(log: Json | undefined): string[] {
  const decoded = decodeLog(log)
  return typeof decoded === 'string' ? ['text'] : Object.keys(logObjectOf(decoded))
}

/** Of a value only what it is. */
function shapeOf(value: Json | undefined): string {
  if (value === undefined) return 'absent'
  if (value === null) return 'null'
  if (typeof value === 'string') return 'text'
  if (Array.isArray(value)) return 'a list'
  return isObject(value) ? 'an object' : `a ${typeof value === 'boolean' ? 'boolean' : 'number'}`
}
