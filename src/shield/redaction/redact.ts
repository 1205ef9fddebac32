import type { Json, JsonObject } from '../../domain/text/json.ts'
import { isObject } from '../../domain/text/json.ts'
import { jsonText } from '../../domain/text/json-text.ts'
import {
  maskAddress,
  replaceAddresses,
  type Found,
  linePattern,
  redacted,
  redactLines,
  redactQuery,
  remember,
} from './redact-text.ts'

export interface RedactionSettings {
  /** Header names, in any case; also matched as plain keys. */
  readonly headers: readonly string[]
  /** Names of query parameters, in any case. */
  readonly query: readonly string[]
  readonly body: 'drop' | 'keep'
  readonly addresses: 'keep' | 'mask' | 'drop'
}
export type Redaction = RedactionSettings | 'off'

/**
 * Redacts an entry (without its log) and its decoded log. Returns the same objects when there is nothing to hide. A
 * value that is redacted in one place is masked wherever else it occurs in the entry.
 */
export type Redactor = (rest: JsonObject, log: Json) => { readonly rest: JsonObject; readonly log: Json }

type Rule = 'header' | 'body' | 'address'

/** In unstructured text `body` is too common a word: what follows it is not hidden. */
const bodyNames = ['urlencodedbody', 'requestbody']
const bodyKeys = [...bodyNames, 'body']
const addressKeys = ['remoteip', 'remoteaddr', 'clientip']
const forwardingHeaders = [
  'x-forwarded-for',
  'x-original-forwarded-for',
  'x-real-ip',
  'x-client-ip',
  'client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'forwarded',
]
/** Never redacted: identity and time are needed to recognise duplicates. */
const identityKeys = new Set(['logId', 'timestamp', 'log'])
/**
 * Never masked because of a value found elsewhere: an attacker could send a cookie with the value `Blocked`, or with
 * the own address, and so hide the action, the rule or the origin of the attack.
 */
const ownWords = new Set([
  'status',
  'severity',
  'ruleId',
  'ruleGroup',
  'asn',
  'country',
  'serverZone',
  'Name',
  'Key',
  'RemoteIp',
])
/** Anything nested deeper is redacted as one text. */
const mostLevels = 100

export function createRedactor(redaction: Redaction): Redactor {
  if (redaction === 'off') return (rest, log) => ({ rest, log })
  const query = new Set(redaction.query.map((name) => name.toLowerCase()))
  const ruleOf = rulesOf(redaction)
  const lines = linePattern([...redaction.headers, ...(redaction.body === 'drop' ? bodyNames : [])])
  const hide = redaction.addresses === 'mask' ? maskAddress : () => redacted

  function redactPlain(text: string, found: Found): string {
    const kept = redactQuery(redactLines(text, lines, found), query, found)
    return redaction !== 'off' && redaction.addresses === 'keep' ? kept : replaceAddresses(kept, hide)
  }

  function redactValue(value: Json, found: Found, level: number): Json {
    if (typeof value === 'string') return redactQuery(value, query, found)
    if (typeof value !== 'object' || value === null) return value
    if (level === mostLevels) return redactPlain(jsonText(value), found)
    if (!isObject(value)) return mapItems(value, (item) => redactValue(item, found, level + 1))
    const name = value['Name'] ?? value['name']
    const route = typeof name === 'string' ? ruleOf(name) : undefined
    return mapMembers(value, (key, held) => {
      const rule = route !== undefined && (key === 'Value' || key === 'value') ? route : ruleOf(key)
      return rule === undefined ? redactValue(held, found, level + 1) : applyRule(rule, held, found)
    })
  }

  function applyRule(rule: Rule, value: Json, found: Found): Json {
    if (value === null || value === '') return value
    if (rule !== 'address') {
      const text = typeof value === 'string' ? value : jsonText(value)
      if (rule === 'header') remember(found, text)
      return redacted
    }
    if (typeof value !== 'string') return redactPlain(jsonText(value), found)
    const kept = replaceAddresses(value, (address) => {
      const hidden = hide(address)
      found.set(address, hidden)
      return hidden
    })
    const isMasked = hide === maskAddress && /^[\da-f.:]*\*$/i.test(value)
    return kept !== value || isMasked ? kept : redacted
  }

  return (rest, log) => {
    const found: Found = new Map()
    const cleanRest = mapMembers(rest, (key, value) => {
      if (identityKeys.has(key)) return value
      const rule = ruleOf(key)
      return rule === undefined ? redactValue(value, found, 0) : applyRule(rule, value, found)
    })
    const cleanLog = typeof log === 'string' ? redactPlain(log, found) : redactValue(log, found, 0)
    if (found.size === 0) return { rest: cleanRest, log: cleanLog }
    const routes = [...found].sort(([left], [right]) => right.length - left.length)
    return {
      rest: mapMembers(cleanRest, (key, value) =>
        identityKeys.has(key) ? value : maskFound(value, routes, key),
      ),
      log: maskFound(cleanLog, routes),
    }
  }
}

/** Returns the rule for a key or header name. The same names occur in every entry, so results are cached. */
function rulesOf(settings: RedactionSettings): (name: string) => Rule | undefined {
  const rules = new Map<string, Rule>()
  if (settings.addresses !== 'keep')
    for (const name of [...addressKeys, ...forwardingHeaders]) rules.set(name, 'address')
  if (settings.body === 'drop') for (const name of bodyKeys) rules.set(name, 'body')
  for (const name of settings.headers) rules.set(name.trim().toLowerCase(), 'header')
  const known = new Map<string, Rule | null>()
  return (name) => {
    const answer = known.get(name)
    if (answer !== undefined) return answer ?? undefined
    const rule = rules.get(name.trim().toLowerCase())
    // Attackers choose the names: the cache is bounded.
    if (known.size < 4096 && name.length < 100) known.set(name, rule ?? null)
    return rule
  }
}

function maskFound(value: Json, routes: readonly (readonly [string, string])[], key = ''): Json {
  if (typeof value === 'string') return ownWords.has(key) ? value : replaceAll(value, routes)
  if (typeof value !== 'object' || value === null) return value
  if (!isObject(value)) return mapItems(value, (item) => maskFound(item, routes))
  return mapMembers(value, (name, held) => maskFound(held, routes, name))
}

function replaceAll(text: string, routes: readonly (readonly [string, string])[]): string {
  let masked = text
  for (const [secret, stand] of routes)
    if (masked.includes(secret)) masked = masked.replaceAll(secret, () => stand)
  return masked
}

/** Returns the same array when no item changed. */
function mapItems(items: readonly Json[], map: (item: Json) => Json): readonly Json[] {
  let copy: Json[] | undefined
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    const mapped = map(item)
    if (mapped === item) continue
    copy ??= [...items]
    copy[index] = mapped
  }
  return copy ?? items
}

/** Returns the same object when no member changed. Assigns no member: `__proto__` may be one of the keys. */
function mapMembers(members: JsonObject, map: (key: string, value: Json) => Json): JsonObject {
  let changed: Map<string, Json> | undefined
  // Objects parsed from JSON inherit no enumerable keys; `for…in` avoids allocating a list of keys.
  for (const key in members) {
    const value = members[key]!
    const mapped = map(key, value)
    if (mapped !== value) (changed ??= new Map()).set(key, mapped)
  }
  if (changed === undefined) return members
  return Object.fromEntries(Object.entries(members).map(([key, value]) => [key, changed.get(key) ?? value]))
}
