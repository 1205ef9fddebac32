import { exactJson } from '../../domain/text/decode.ts'
import { isExactNumber, isObject, jsonText, type Json, type JsonObject } from '../../domain/text/json.ts'
import {
  hideAddressField,
  maskAddress,
  plainAddress,
  replaceAddresses,
  standIn,
  type AddressSettings,
} from './addresses.ts'
import { Copies, redacted } from './copies.ts'
import { byName, hiddenHeaders, hiddenParameters } from './names.ts'
import { hideInText, hideInUrl, isRequest, queryStart, type HiddenNames } from './texts.ts'

export interface RedactionSettings extends AddressSettings {
  /** Names of headers that are hidden besides those that the rule on names hides; also matched as plain keys. */
  readonly headers: readonly string[]
  /** Names of query parameters, likewise. */
  readonly query: readonly string[]
  /** Names that are not hidden. */
  readonly keep: { readonly headers: readonly string[]; readonly query: readonly string[] }
  readonly body: 'drop' | 'keep'
}
export type Redaction = RedactionSettings | 'off'

/**
 * Redacts an entry (without its log) and its decoded log. Returns the same objects when there is nothing to hide. Values
 * are hidden where they stand. Copies of them are hidden only where copies are to be expected: in what a rule matched,
 * in the query of the URL and of the referer, and in a log that is text. So no value that a client chooses changes what
 * another field says of the request.
 */
export type Redactor = (rest: JsonObject, log: Json) => { readonly rest: JsonObject; readonly log: Json }

/** What a value is, by the name above it. */
type Place =
  /** Hidden as a whole. */
  | 'secret'
  | 'body'
  /** Says what happened, in the words of the service or in one that a filter compares: never hidden. */
  | 'fact'
  | 'message'
  | 'userAgent'
  | 'url'
  | 'referer'
  /** What a rule matched. */
  | 'match'
  /** An address and nothing else. */
  | 'address'
  /** The value of a pair with a name. */
  | 'value'
  /** The value of a header, or headers. */
  | 'header'
  | 'text'
  /** Of JSON that is a text. */
  | 'inText'
  /** Text of which nothing is known. */
  | 'plain'

type Visit = (value: Json, place: Place) => Json

const members = placesBy({
  fact: 'logid timestamp status severity ruleid rulegroup asn country serverzone serverzoneid method',
  message: 'message',
  userAgent: 'user-agent useragent',
  url: 'url',
  referer: 'referer referrer',
  match: 'triggermatch',
  address: 'remoteip remoteaddr clientip',
  header: 'headers requestheaders request_headers',
  body: 'urlencodedbody requestbody body',
  text: 'labels name key',
  value: 'value values',
})
/** Of headers that proxies add, and of what a service may call the address. */
const nameOfClient =
  /forwarded|(?:client|remote|real|connecting|source|src|user|peer)[-_]?(?:ip|addr(?:ess)?)$/i
const headers = placesBy({ userAgent: 'user-agent', referer: 'referer referrer' })

function placesBy(names: { readonly [Of in Place]?: string }): ReadonlyMap<string, Place> {
  return new Map(
    Object.entries(names).flatMap(([place, list]) => list.split(' ').map((name) => [name, place as Place])),
  )
}

/** In a text `body` is too common a word: what follows it is not hidden. */
const bodyInText = new Set(['urlencodedbody', 'requestbody'])

/** With the colon behind those that are names. */
const textsInJson = /"([^"\\]*(?:\\.[^"\\]*)*)"\s*(:?)/gs

/** JSON as text, perhaps as the text of a text. */
const jsonBegin = /^\s*(?:"[\\"]*)?[[{]/

const headerName = /^\s*[\w!#$%&'*+.^`|~-]+\s*$/
const refererLine = /^([ \t]*referr?er[ \t]*:)(.*)/gim

/** Texts in which every address is a client's, or may be one. */
const ofClients: ReadonlySet<Place> = new Set<Place>(['header', 'referer', 'userAgent', 'plain'])
const mayBeJson: ReadonlySet<Place> = new Set<Place>(['header', 'match', 'text', 'inText', 'plain'])
/** What a name says also in a text; nothing there is a fact. */
const alsoInText: ReadonlySet<Place> = new Set<Place>(['secret', 'body', 'header', 'value'])
/** Anything nested deeper is redacted as one text. */
const mostLevels = 100
const mostTextsWithin = 4

/** Which names are hidden, what a value is by the name above it, and where copies of hidden values are looked for. */
function rulesOf(redaction: RedactionSettings) {
  const { keep, body, addresses } = redaction
  const isHidden = hiddenHeaders({ listed: redaction.headers, kept: keep.headers })
  const placeOf = {
    header: byName((name): Place => {
      return isHidden(name) ? 'secret' : (headers.get(name.trim().toLowerCase()) ?? 'header')
    }),
    member: byName((name): Place => {
      const place = members.get(name.toLowerCase())
      if (place === 'body' && body === 'keep') return 'text'
      return place ?? (isHidden(name) ? 'secret' : nameOfClient.test(name) ? 'header' : 'text')
    }),
  }
  const names: HiddenNames = {
    header: byName((name) => isHidden(name) || (body === 'drop' && bodyInText.has(name.toLowerCase()))),
    parameter: hiddenParameters({ listed: redaction.query, kept: keep.query }),
    body: body === 'drop',
  }
  const mayHoldCopies: ReadonlySet<Place> = new Set<Place>([
    ...(['plain', 'match', 'url', 'referer'] as const),
    // Of the addresses of clients.
    ...(addresses === 'keep' ? [] : (['text', 'message'] as const)),
  ])

  /** Of a member of an object that is at some place. */
  function placeIn(place: Place, key: string, members: JsonObject): Place {
    if (place === 'header') return placeOf.header(key)
    const own = placeOf.member(key)
    if (own === 'text' && place === 'address') return 'header'
    if (place === 'plain' || place === 'inText') {
      // It may be what matched, whatever its name.
      if (own === 'address') return 'header'
      if (!alsoInText.has(own) || (own === 'body' && !bodyInText.has(key.toLowerCase()))) return place
    }
    if (own !== 'value') return own
    const name = nameIn(members)
    const named = name === undefined ? 'text' : placeOf.header(name)
    return place === 'match' && named !== 'secret' ? 'match' : named
  }

  /** Of an item of a list at some place: by the item before it, as in `["Cookie", "a=1"]` and a list of such pairs. */
  function placeOfItem(place: Place, items: readonly Json[], index: number): Place {
    const name = index % 2 === 0 || items.length % 2 === 1 ? undefined : items[index - 1]
    if (typeof name !== 'string' || !headerName.test(name)) return place
    const own = placeOf.header(name)
    return own === 'secret' || (own !== 'header' && place !== 'match') ? own : place
  }

  return { placeIn, placeOfItem, names, mayHoldCopies }
}

/** Passes over values with their places. */
function walkBy({ placeIn, placeOfItem }: ReturnType<typeof rulesOf>) {
  /** Returns the same value when nothing in it changed. */
  function walk(value: Json, place: Place, visit: Visit, level = 0): Json {
    if (typeof value === 'string') return value === '' || place === 'fact' ? value : visit(value, place)
    if (value === null || typeof value === 'boolean') return value
    if (place === 'secret' || place === 'body') return visit(value, place)
    if (typeof value === 'number' || isExactNumber(value)) return value
    if (level === mostLevels) return visit(jsonText(value), 'plain')
    return isObject(value) ? walkMembers(value, place, visit, level) : walkItems(value, place, visit, level)
  }

  /** `except`: the name of a member that stays. */
  function walkMembers(members: JsonObject, place: Place, visit: Visit, level: number, except?: string) {
    // The keys of a pair are not names of headers.
    const inside = place === 'header' && nameIn(members) !== undefined ? 'text' : place
    let copy: { [key: string]: Json } | undefined
    // Objects parsed from JSON inherit no enumerable keys; `for…in` avoids allocating a list of keys.
    for (const key in members) {
      if (key === except) continue
      const value = members[key]!
      const clean = walk(value, placeIn(inside, key, members), visit, level + 1)
      // A copy has every key as its own: `__proto__` may be one.
      if (clean !== value) (copy ??= { ...members })[key] = clean
    }
    return copy ?? members
  }

  function walkItems(items: readonly Json[], place: Place, visit: Visit, level: number): readonly Json[] {
    let copy: Json[] | undefined
    for (let index = 0; index < items.length; index++) {
      const clean = walk(items[index]!, placeOfItem(place, items, index), visit, level + 1)
      if (clean !== items[index]) (copy ??= [...items])[index] = clean
    }
    return copy ?? items
  }

  return { walk, walkMembers }
}

export function createRedactor(redaction: Redaction): Redactor {
  if (redaction === 'off') return (rest, log) => ({ rest, log })
  const { addresses } = redaction
  const rules = rulesOf(redaction)
  const { names, mayHoldCopies } = rules
  const { walk, walkMembers } = walkBy(rules)
  const standFor = standIn(redaction)
  /** Of the entry at hand: what was hidden, the addresses of its clients, and the texts that may hold copies. */
  const copies = new Copies()
  const clients = new Set<string>()
  let texts: string[] = []
  /** Texts of JSON within each other that are being read. */
  let textsWithin = 0

  function replaceClient(address: string): string {
    clients.add(plainAddress(address))
    return standFor(address)
  }

  function hideWhereItStands(value: Json, place: Place): Json {
    const text = typeof value === 'string' ? value : jsonText(value)
    if (place === 'secret') {
      copies.remember(text)
      if (text !== value)
        for (const [, held, colon] of text.matchAll(textsInJson)) if (colon === '') copies.remember(held!)
      return redacted
    }
    if (place === 'body') {
      hideInText(text, names, copies)
      return redacted
    }
    const named = hideInJson(text, place) ?? hideNamed(text, place, names, copies)
    const clean = addresses === 'keep' ? named : hideAddresses(named, place)
    if (mayHoldCopies.has(place) || mayHoldReferer(clean, place)) texts.push(clean)
    return clean
  }

  /** Of JSON that is a text, which is written anew where something in it is hidden; undefined for other texts. */
  function hideInJson(text: string, place: Place): string | undefined {
    if (!mayBeJson.has(place) || !jsonBegin.test(text) || textsWithin === mostTextsWithin) return undefined
    const held = exactJson(text)
    // Of a name that stands twice it has one value only.
    if (held === undefined || namesIn(text) > namesIn(jsonText(held))) return undefined
    textsWithin++
    try {
      const clean = walk(held, place === 'plain' ? place : 'inText', hideWhereItStands)
      return clean === held ? text : jsonText(clean)
    } finally {
      // Left counted, it would keep later texts from being read as JSON, and their secrets in plain.
      textsWithin--
    }
  }

  function hideAddresses(text: string, place: Place): string {
    if (ofClients.has(place) || ((place === 'text' || place === 'inText') && isRequest(text)))
      return replaceAddresses(text, replaceClient)
    if (place !== 'address') return text
    // Masked by the API.
    if (text.endsWith('*')) clients.add(text.trim())
    return hideAddressField(text, addresses, replaceClient)
  }

  function hideCopies(value: Json, place: Place): Json {
    if (typeof value !== 'string') return value
    if (place === 'plain') return copies.hideIn(value)
    if (place === 'match') return hideClients(copies.hideIn(value))
    if (place === 'url' || place === 'referer') return hideInQuery(value)
    const clean = mayHoldReferer(value, place)
      ? value.replace(refererLine, (_, name: string, url: string) => name + hideInQuery(url))
      : value
    return place === 'text' || place === 'message' ? hideClients(clean) : clean
  }

  function hideInQuery(url: string): string {
    const at = queryStart(url)
    return url.slice(0, at) + hideClients(copies.hideIn(url.slice(at)))
  }

  function hideClients(text: string): string {
    if (clients.size === 0) return text
    const isClient = (plain: string) => clients.has(plain) || clients.has(maskAddress(plain))
    return replaceAddresses(text, (address) =>
      isClient(plainAddress(address)) ? standFor(address) : address,
    )
  }

  function pass(visit: Visit, rest: JsonObject, log: Json): ReturnType<Redactor> {
    return {
      // The log comes decoded.
      rest: walkMembers(rest, 'text', visit, -1, 'log'),
      log: walk(log, typeof log === 'string' ? 'plain' : 'text', visit),
    }
  }

  return (rest, log) => {
    copies.clear()
    clients.clear()
    texts = []
    const clean = pass(hideWhereItStands, rest, log)
    const isNothingHidden = copies.isEmpty && clients.size === 0
    const hasCopy = !isNothingHidden && texts.some((text) => hideClients(copies.hideIn(text)) !== text)
    return hasCopy ? pass(hideCopies, clean.rest, clean.log) : clean
  }
}

/** How many names of members a text of JSON has. */
function namesIn(text: string): number {
  let names = 0
  for (const [, , colon] of text.matchAll(textsInJson)) if (colon !== '') names++
  return names
}

/** The header as a line, or as one of several. */
function mayHoldReferer(text: string, place: Place): boolean {
  return (place === 'header' || place === 'text') && text.includes(':') && text.search(refererLine) >= 0
}

/** The name of a pair `{Name, Value}` or `{Key, Value}`, in any case. */
function nameIn(members: JsonObject): string | undefined {
  for (const key in members) {
    if (key !== 'Name' && !(key.length < 5 && /^(?:name|key)$/i.test(key))) continue
    const name = members[key]
    if (typeof name === 'string') return name
  }
  return undefined
}

function hideNamed(text: string, place: Place, names: HiddenNames, copies: Copies): string {
  switch (place) {
    case 'url':
    case 'referer':
      return hideInUrl(text, names, copies)
    case 'text':
    case 'inText':
    case 'match':
    case 'header':
      return hideInText(text, names, copies)
    case 'plain':
      return hideInText(text, names, copies, { isPlain: true })
    default:
      return text
  }
}
