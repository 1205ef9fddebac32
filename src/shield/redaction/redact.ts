import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import { percentDecoded } from '../../domain/text/decode.ts'
import { isExactNumber, isObject, jsonText, type Json, type JsonObject } from '../../domain/text/json.ts'
import type { Secret } from '../../domain/text/secret.ts'

export interface RedactionSettings {
  /** Header names, in any case; also matched as plain keys. */
  readonly headers: readonly string[]
  /** Names of query parameters, in any case. */
  readonly query: readonly string[]
  readonly body: 'drop' | 'keep'
  readonly addresses: 'keep' | 'mask' | 'drop' | 'hash'
  readonly addressKey?: Secret | undefined
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
/** Of the log, and headers in which proxies name the client. */
const addressNames = (
  'remoteip remoteaddr clientip x-forwarded-for x-original-forwarded-for x-real-ip x-client-ip client-ip ' +
  'true-client-ip cf-connecting-ip fastly-client-ip forwarded'
).split(' ')
/** Never redacted: identity and time are needed to recognise duplicates. */
const identityKeys = new Set(['logId', 'timestamp', 'log'])
/**
 * Never masked because of a value found elsewhere: an attacker could send a cookie with the value `Blocked`, or with
 * the own address, and so hide the action, the rule or the origin of the attack.
 */
const ownWords = new Set(
  'status severity ruleId ruleGroup asn country serverZone Name Key RemoteIp'.split(' '),
)
/** Anything nested deeper is redacted as one text. */
const mostLevels = 100

export function createRedactor(redaction: Redaction): Redactor {
  if (redaction === 'off') return (rest, log) => ({ rest, log })
  const query = new Set(redaction.query.map((name) => name.toLowerCase()))
  const ruleOf = rulesOf(redaction)
  const lines = linePattern([...redaction.headers, ...(redaction.body === 'drop' ? bodyNames : [])])
  const hide = hidingOf(redaction)
  const { addresses } = redaction

  function redactPlain(text: string, found: Found): string {
    const kept = redactQuery(redactLines(text, lines, found), query, found)
    return addresses === 'keep' ? kept : replaceAddresses(kept, hide)
  }

  function redactValue(value: Json, found: Found, level: number): Json {
    if (typeof value === 'string') return redactQuery(value, query, found)
    if (typeof value !== 'object' || value === null || isExactNumber(value)) return value
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
      const stand = hide(address)
      found.set(address, stand)
      return stand
    })
    if (kept !== value || hidden[addresses]?.test(value) === true) return kept
    return addresses === 'hash' && maskedAddress.test(value) ? hide(value) : redacted
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

const maskedAddress = /^[\da-f.:]*\*$/i

/** What an address field of a stored event holds, which is redacted a second time. */
const hidden: Partial<Record<RedactionSettings['addresses'], RegExp>> = {
  mask: maskedAddress,
  hash: /^h:[\da-f]{16}$/,
}

function hidingOf({ addresses, addressKey }: RedactionSettings): (address: string) => string {
  if (addresses === 'mask') return maskAddress
  if (addresses !== 'hash') return () => redacted
  // The key is read when an address is hashed: a command that reads no event does without it.
  return (address) => {
    const keyed = createHmac('sha256', addressKey!.reveal()).update(plainAddress(address))
    return `h:${keyed.digest('hex').slice(0, 16)}`
  }
}

/** One spelling of an address, also of a masked one: IPv6 in the short form, IPv4 also where it is mapped into IPv6. */
function plainAddress(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined || isIP(address) !== 6) return mapped ?? address
  return new URL(`http://[${address}]`).hostname
}

/** Returns the rule for a key or header name. The same names occur in every entry, so results are cached. */
function rulesOf(settings: RedactionSettings): (name: string) => Rule | undefined {
  const rules = new Map<string, Rule>()
  if (settings.addresses !== 'keep') for (const name of addressNames) rules.set(name, 'address')
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
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value
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

const redacted = '[redacted]'

/** Secret text, to mask everywhere in the same entry → its replacement. */
type Found = Map<string, string>

/** Masks the values of query parameters in any text, however their names are encoded. */
function redactQuery(text: string, names: ReadonlySet<string>, found: Found): string {
  if (names.size === 0 || !text.includes('=')) return text
  // A value may hold further parameters (`?next=?token=…`): the pattern matches names only, and a listed name then
  // takes the value after it.
  const named = /(?:^|[?&;\s"'(<])([^?&;\s"'(<>=#]+)=/g
  const valueEnd = /[&;\s"'<>#]/g
  const parts: string[] = []
  let from = 0
  for (let match = named.exec(text); match !== null; match = named.exec(text)) {
    if (!names.has(plainName(match[1]!))) continue
    valueEnd.lastIndex = named.lastIndex
    const end = valueEnd.exec(text)?.index ?? text.length
    if (end === named.lastIndex) continue
    remember(found, text.slice(named.lastIndex, end))
    parts.push(text.slice(from, named.lastIndex), redacted)
    from = end
    named.lastIndex = from
  }
  return from === 0 ? text : parts.join('') + text.slice(from)
}

function plainName(name: string): string {
  const spaced = name.replaceAll('+', ' ')
  return (percentDecoded(spaced) ?? spaced).replace(/\[[^\]]*\]$/, '').toLowerCase()
}

/**
 * Matches `<name>: value` and similar forms (`name=value`, truncated JSON, a list of `Name` and `Value`) in
 * unstructured text. A name may follow an escaped line break, as in a text inside JSON that was cut. A quoted value ends
 * at its quote, any other at the end of its line. Undefined without names.
 */
function linePattern(names: Iterable<string>): RegExp | undefined {
  const alternatives = [...names].map((name) => name.trim().replace(/[^\w-]/g, String.raw`\$&`)).join('|')
  if (alternatives === '') return undefined
  const quote = String.raw`\\*["']?`
  const between = String.raw`${quote}\s*(?:[:=]|,\s*${quote}value${quote}\s*:)\s*`
  return new RegExp(
    String.raw`(?:(?<![\w-])|(?<=\\[nrt]))((?:${alternatives})${between})("(?:[^"\\]|\\.)*"?|[^\r\n]*)`,
    'gis',
  )
}

function redactLines(text: string, pattern: RegExp | undefined, found: Found): string {
  if (pattern === undefined) return text
  return text.replace(pattern, (whole, before: string, value: string) => {
    const isQuoted = value.startsWith('"')
    const plain = isQuoted ? value.slice(1).replace(/"$/, '') : value
    if (plain.trim() === '') return whole
    remember(found, plain)
    return isQuoted ? `${before}"${redacted}"` : `${before}${redacted}`
  })
}

/** Shorter texts occur everywhere; masking them would make events unreadable and hide nothing. */
const shortestSecret = 6
/** A request can carry thousands of cookies, and each piece is searched for in every text of its entry. */
const mostPieces = 64

const noSecrets = new Set(['bearer', 'digest', 'negotiate', 'httponly', 'secure', 'partitioned'])
const attributes = new Set(['domain', 'path', 'expires', 'max-age', 'samesite', 'realm', 'algorithm'])

/** Of a value: itself, and each value in a list such as `sid=abc; theme=dark` or `Bearer abc`, also percent-decoded. */
function remember(found: Found, value: string): void {
  const most = found.size + mostPieces
  keepSecret(found, value.trim())
  for (const part of value.split(/[;,\s]+/)) {
    const equals = part.indexOf('=')
    const name = part.slice(0, Math.max(0, equals)).toLowerCase()
    if (attributes.has(name) || noSecrets.has(part.toLowerCase())) continue
    keepSecret(found, part)
    if (equals > 0) keepSecret(found, part.slice(equals + 1).replace(/^"|"$/g, ''))
    if (found.size >= most) return
  }
}

function keepSecret(found: Found, piece: string): void {
  // Decoded once: a text of `%252525…` would have as many forms as it has signs.
  for (const form of new Set([piece, percentDecoded(piece) ?? piece]))
    // The replacement text itself must not be masked again.
    if (form.length >= shortestSecret && !redacted.includes(form)) found.set(form, redacted)
}

const candidates =
  /(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?![\w:])\*?)/gi

/** Lookalikes (a time, a version) stay, and so do masked addresses: a stored event is redacted a second time. */
export function replaceAddresses(text: string, replace: (address: string) => string): string {
  return text.replace(candidates, (found) => {
    const address = found.endsWith('*') ? found.slice(0, -1) : found
    if (isIP(address) === 0 || (address !== found && maskAddress(address) === found)) return found
    return replace(address) + found.slice(address.length)
  })
}

/** IPv4 without its last octet (`1.2.3.*`), IPv6 without its last four groups (`2001:db8:0:1::*`). */
export function maskAddress(address: string): string {
  if (/^(?:::ffff:)?[\d.]+$/i.test(address)) return address.replace(/\d+$/, '*')
  // A URL has groups only, and at most one run of zeros left out.
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [front = [], back] = written.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = back === undefined ? [] : Array<string>(8 - front.length - back.length).fill('0')
  return `${[...front, ...zeros, ...(back ?? [])].slice(0, 4).join(':')}::*`
}
