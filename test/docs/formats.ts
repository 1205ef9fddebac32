import type { Event } from '../../src/domain/event/event.ts'
import { readExtension } from '../../src/formats/cef.ts'
import { formats, type FormatName } from '../../src/formats/registry.ts'
import { buildEvent, type EventParts } from '../formats/events.ts'
import { markdownTable } from './tables.ts'

const base: EventParts = {
  rule: { id: '930130', group: 'group', message: 'message' },
  request: { id: 'request', method: 'GET', url: 'https://a.example:81/path?x=1', userAgent: 'agent' },
  response: { status: 403 },
  client: { address: '192.0.2.1', ip: '192.0.2.1', asn: 1, country: 'BG' },
}

/** The event with one field changed, by the field's name in the native format. */
const changes: readonly (readonly [string, EventParts])[] = [
  ['id', { id: 'other' }],
  ['time', { time: '2025-11-21T00:00:00.000001Z', timeMs: 1_763_683_200_000 }],
  ['zone.id', { zone: { id: 7, name: 'shop' } }],
  ['zone.name', { zone: { id: 101, name: 'other' } }],
  ['action', { action: 'Tarpitted' }],
  ['severity', { severity: 'notice' }],
  ['rule.id', { rule: { ...base.rule, id: '942100' } }],
  ['rule.group', { rule: { ...base.rule, group: 'other' } }],
  ['rule.message', { rule: { ...base.rule, message: 'other' } }],
  ['request.id', { request: { ...base.request, id: 'other' } }],
  ['request.method', { request: { ...base.request, method: 'PROPFIND' } }],
  ['request.url', { request: { ...base.request, url: 'http://b.example:82/other?y=2' } }],
  ['request.userAgent', { request: { ...base.request, userAgent: 'other' } }],
  ['response.status', { response: { status: 200 } }],
  ['client.address', { client: { ...base.client, address: '192.0.2.*' } }],
  ['client.ip', { client: { ...base.client, ip: '2001:db8::1' } }],
  ['client.asn', { client: { ...base.client, asn: 2 } }],
  ['client.country', { client: { ...base.client, country: 'Atlantis' } }],
  ['pop', { pop: 'other' }],
  ['match.operator', { match: { operator: 'other', value: '.env' } }],
  ['match.value', { match: { operator: 'PMF', value: 'other' } }],
  ['labels', { labels: { other: 'x' }, raw: { fixed: 1 } }],
  ['log', { log: { other: 'x' }, raw: { fixed: 1 } }],
  ['other', { other: { more: 'x' }, raw: { fixed: 1 } }],
  ['the entry', { raw: { other: 1 } }],
]

/** The fields of a line with their values as text. */
type Fields = Map<string, string>

const deepest = new Set(
  ['bunny.shield', 'unmapped'].flatMap((at) => ['labels', 'log', 'other'].map((part) => `${at}.${part}`)),
)

const readers: Readonly<Partial<Record<FormatName, (line: string) => Fields>>> = {
  ecs: (line) => new Map(leaves(JSON.parse(line))),
  ocsf: (line) => new Map(leaves(JSON.parse(line))),
  otlp: (line) => {
    const { attributes, ...record } = JSON.parse(line) as { attributes: { key: string; value: object }[] }
    return new Map([
      ...leaves(record),
      ...attributes.map(({ key, value }): [string, string] => [
        `attribute ${key}`,
        JSON.stringify(Object.values(value)[0]),
      ]),
    ])
  },
  cef: (line) => {
    const names = ['version', 'vendor', 'product', 'device version', 'signature id', 'name', 'severity']
    const header = line
      .split('|')
      .slice(0, 7)
      .map((text, index): [string, string] => [`header: ${names[index]}`, text])
    return new Map([...header, ...readExtension(line, 'CEF:0|bunny.net|Bunny Shield|')!])
  },
}

function leaves(value: unknown, path = ''): [string, string][] {
  const isLeaf = typeof value !== 'object' || value === null || Array.isArray(value) || deepest.has(path)
  if (isLeaf) return [[path, JSON.stringify(value)]]
  return Object.entries(value).flatMap(([key, held]) => leaves(held, path === '' ? key : `${path}.${key}`))
}

/** Every field of a format, with the fields of the native format that it comes from, or its fixed value. */
function fieldsOf(name: FormatName, read: (line: string) => Fields): [string, string][] {
  const format = formats[name]({ labels: true, log: true, raw: true })
  const raw = { fixed: 1 }
  const linesOf = (parts: EventParts): Event => buildEvent({ ...base, raw, ...parts })
  const plain = read(format.encode(linesOf({})))
  const changed = changes.map(([from, parts]) => [from, read(format.encode(linesOf(parts)))] as const)
  const fields = new Set([plain, ...changed.map(([, held]) => held)].flatMap((held) => [...held.keys()]))
  return [...fields].map((field) => {
    const from = changed.filter(([, held]) => held.get(field) !== plain.get(field)).map(([source]) => source)
    return [field, from.length === 0 ? `\`${plain.get(field)?.replace(/^"(.*)"$/, '$1')}\`` : from.join(', ')]
  })
}

/** A table of fields by the name of its block, for each format that maps to the fields of a schema. */
export function formatTables(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(readers).map(([name, read]) => [
      `format-${name}`,
      markdownTable(
        ['Field', 'From the native field, or always'],
        fieldsOf(name as FormatName, read).map(([field, from]) => [`\`${field}\``, from]),
      ),
    ]),
  )
}
