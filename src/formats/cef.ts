import type { Event, Identity } from '../domain/event/event.ts'
import { percentDecoded } from '../domain/text/decode.ts'
import { describe } from './describe-event.ts'
import { identityIn, jsonLine, lineFormat, type Parts } from './line.ts'

/** Version, vendor and product. */
const start = 'CEF:0|bunny.net|Bunny Shield|'
const deviceVersion = '1'
/** Longest values that the dictionary of CEF allows, in characters. */
const most = { header: 512, id: 40, action: 63, app: 31, text: 1023, custom: 4000 }

type Fields = Record<string, string | number | undefined>

/**
 * Common Event Format, version 0: a header and an extension of `key=value`. Values are cut to the lengths of its
 * dictionary; keys that begin with `BunnyShield` are not in it, and are not cut.
 */
export const createCefFormat = lineFormat({ name: 'cef', mediaType: 'text/plain', encode, identify })

function encode(event: Event, { labels, log, other, raw, set = {} }: Parts): string {
  const { action, client, id, match, request, response, rule, time, zone } = event
  const { url, category, message, severity } = describe(event)
  const isV6 = client?.ip?.includes(':') === true
  const fields = {
    rt: event.timeMs,
    externalId: cutTo(id, most.id),
    act: cutTo(action, most.action),
    cat: cutTo(category),
    msg: rule?.message === undefined ? undefined : cutTo(message),
    src: isV6 ? undefined : client?.ip,
    ...labelled('c6a2', 'Source IPv6 Address', isV6 ? client?.ip : undefined),
    app: cutTo(url?.scheme.toUpperCase(), most.app),
    dhost: cutTo(url?.host),
    dpt: url?.port,
    request: cutTo(request?.url),
    requestMethod: cutTo(request?.method),
    requestClientApplication: cutTo(request?.userAgent),
    ...labelled('cs1', 'Country', client?.country),
    ...labelled('cs2', 'Zone', zone.name || undefined),
    ...labelled('cs3', 'Client Address', client?.address),
    ...labelled('cs4', 'Match Operator', match?.operator),
    ...labelled('cs5', 'Match Value', match?.value),
    ...labelled('cs6', 'Point of Presence', event.pop),
    ...labelled('cn1', 'ASN', client?.asn),
    ...labelled('cn2', 'Zone ID', zone.id),
    ...labelled('cn3', 'HTTP Status', response?.status),
    BunnyShieldRequestId: request?.id,
    BunnyShieldLabels: labels && jsonLine(labels),
    BunnyShieldLog: log && jsonLine(log),
    BunnyShieldOther: other && jsonLine(other),
    BunnyShieldRaw: raw && jsonLine(raw),
    ...Object.fromEntries(
      Object.entries(set).map(([name, value]) => [`BunnyShield_${name.replace('.', '_')}`, value]),
    ),
  }
  const name = message ?? rule?.id ?? action ?? 'event'
  const header = [deviceVersion, rule?.id ?? action ?? 'none', name, String(severity.cef)]
  const texts = header.map((text) => headerText(cutTo(text, most.header)))
  const line = `${start}${texts.join('|')}|${textOf(fields)}`
  if (isIdentifiedBy(line, event)) return line
  // Percent-encoding keeps every character of an id that `externalId` had to shorten.
  const identity = { BunnyShieldId: encodeURIComponent(id.toWellFormed()), BunnyShieldTime: time }
  return `${line} ${textOf(identity)}`
}

/** True for a UUID and a time in whole ms, which `externalId` and `rt` hold in full. Other lines are read to find out. */
function isIdentifiedBy(line: string, { id, time, timeMs }: Event): boolean {
  if (/^[\da-f-]{1,40}$/i.test(id) && timeMs !== undefined && time === timeOf(String(timeMs))) return true
  const read = identify(line)
  return read?.id === id.toWellFormed() && read.time === time
}

/** CEF explains a custom field in a second field, named after the first with `Label`. */
function labelled(key: string, label: string, value: string | number | undefined): Fields {
  if (value === undefined) return {}
  return { [`${key}Label`]: label, [key]: typeof value === 'string' ? cutTo(value, most.custom) : value }
}

function textOf(fields: Fields): string {
  const parts: string[] = []
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) parts.push(`${key}=${typeof value === 'number' ? value : extensionText(value)}`)
  }
  return parts.join(' ')
}

function identify(line: string): Identity | undefined {
  const fields = readExtension(line, start)
  if (fields === undefined) return undefined
  const whole = fields.get('BunnyShieldId')
  const id = whole === undefined ? fields.get('externalId') : percentDecoded(whole)
  return identityIn(id, whole === undefined ? timeOf(fields.get('rt')) : fields.get('BunnyShieldTime'))
}

function timeOf(ms: string | undefined): string | undefined {
  const at = new Date(ms === undefined || !/^\d{1,15}$/.test(ms) ? NaN : Number(ms))
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The text form of CEF: what is escaped where, and how a line is read back. Version 26 of its specification. */

/** Characters that end or forge a line for some reader, and have no escape in CEF. */
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

/** At most `length` characters, whole ones, and no more when it is escaped: strict readers count those. */
function cutTo<Text extends string | undefined>(text: Text, length = most.text): Text | string {
  if (text === undefined || 2 * text.length <= length) return text
  let size = 0
  for (let at = 0; at < text.length; at++) {
    size += '\\=|\n\r'.includes(text[at]!) ? 2 : 1
    if (size > length) return text.slice(0, at).replace(/[\ud800-\udbff]$/, '')
  }
  return text
}

/** Simple readers take each `\|` for a part of the text, also after a backslash: none stands at the end. */
export function headerText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(controls, ' ')
    .replaceAll(/[\\|]/g, String.raw`\$&`)
    .replace(/\\$/, '$& ')
}

/** What `extensionText` replaces. */
// oxlint-disable-next-line no-control-regex
const special = /[\\=\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]/

/** Looks first: nearly no value holds anything to replace. */
function extensionText(text: string): string {
  if (!special.test(text)) return text
  return text
    .toWellFormed()
    .replaceAll(/[\\=]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll(controls, ' ')
}

/** The fields of the extension of a line by key; undefined where it is not one of this vendor and product. */
export function readExtension(line: string, start: string): Map<string, string> | undefined {
  if (!line.startsWith(start)) return undefined
  const header = /^(?:(?:[^\\|]|\\.)*\|){4}/.exec(line.slice(start.length))
  if (header === null) return undefined
  const fields = new Map<string, string>()
  const text = line.slice(start.length + header[0].length)
  for (const [, key = '', value = ''] of text.matchAll(/(?:^| )(\w+)=((?:[^\\=]|\\.)*?)(?= \w+=|$)/gs))
    fields.set(key, unescaped(value))
  return fields
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/gs, (_, escaped: string) => {
    if (escaped === 'n') return '\n'
    return escaped === 'r' ? '\r' : escaped
  })
}
