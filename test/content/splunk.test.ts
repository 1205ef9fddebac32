import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nativeSchema } from '../../src/formats/native-schema.ts'
import { formats } from '../../src/formats/registry.ts'
import { buildEvent } from '../formats/events.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { fieldsIn, type Fields } from './leaves.ts'

type Stanzas = ReadonlyMap<string, ReadonlyMap<string, string>>

function readConf(name: string): Stanzas {
  const text = readFileSync(join(projectFolder, 'config/splunk/default', name), 'utf8')
  const stanzas = new Map<string, Map<string, string>>()
  for (const line of text.split('\n')) {
    const stanza = /^\[(.+)\]$/.exec(line)?.[1]
    const setting = /^([\w-]+) = (.*)$/.exec(line)
    if (stanza !== undefined) stanzas.set(stanza, new Map())
    else if (setting !== null) [...stanzas.values()].at(-1)!.set(setting[1]!, setting[2]!)
    else expect(line).toMatch(/^(#.*)?$/)
  }
  return stanzas
}

const props = readConf('props.conf').get('bunny:shield')!
const native = fieldsIn(nativeSchema as Fields).map(([name]) => name)

test('every field that an alias or an expression reads is one of the native format', () => {
  const read = [...props].flatMap(([setting, value]) => {
    if (setting.startsWith('FIELDALIAS-')) return [/^"([^"]+)" AS \w+$/.exec(value)![1]!]
    if (setting.startsWith('EVAL-')) return [...value.matchAll(/'([^']+)'/g)].map(([, field]) => field!)
    return []
  })
  expect(read.length).toBeGreaterThan(10)
  expect(read.filter((field) => !native.includes(field))).toEqual([])
})

test('the time of a line that a forwarder reads is found', () => {
  const prefix = new RegExp(props.get('TIME_PREFIX')!)
  for (const id of ['f3b4e1a2-7a0e-4a7e-8a63-00000000abcd', 'x']) {
    const event = buildEvent({ id })
    const [found] = prefix.exec(formats.native().encode(event))!
    const rest = formats
      .native()
      .encode(event)
      .slice(found.length, found.length + Number(props.get('MAX_TIMESTAMP_LOOKAHEAD')))
    expect(rest).toMatch(/^2025-11-20T\d\d:\d\d:\d\d\.\d{3}Z"/)
  }
})

test('fields are extracted once, also in what the docs say for a forwarder', () => {
  const page = readFileSync(join(projectFolder, 'docs/destinations/files.md'), 'utf8')
  const inputs = /### Splunk Universal Forwarder[^]*?```ini\n([^]*?)```/.exec(page)![1]!
  expect(/^sourcetype = (.+)$/m.exec(inputs)![1]).toBe('bunny:shield')
  expect([...props.keys(), inputs].join()).not.toContain('INDEXED_EXTRACTIONS')
  expect(props.get('KV_MODE')).toBe('json')
})

test('the fields of the data models Web and Intrusion Detection exist', () => {
  const made = [...props].flatMap(([setting, value]) => {
    if (setting.startsWith('FIELDALIAS-')) return [value.split(' AS ')[1]!]
    if (setting.startsWith('EXTRACT-')) return [...value.matchAll(/\?<(\w+)>/g)].map(([, field]) => field!)
    return setting.startsWith('EVAL-') ? [setting.slice('EVAL-'.length)] : []
  })
  const asked =
    'action category dest dvc http_method http_user_agent ids_type severity signature signature_id src status url vendor_product'
  expect(asked.split(' ').filter((field) => !made.includes(field))).toEqual([])
})

/** Splunk extracts in this order, and a step reads only fields of the event and of the steps before it. */
test('no inline extraction reads a field that only later steps make', () => {
  for (const [setting, value] of props)
    if (setting.startsWith('EXTRACT-')) expect(value, setting).not.toMatch(/ in (?!_raw$|source$|host$)\w+$/)
})

test.each([
  ['https://shop.example/a?b=1', 'shop.example'],
  ['http://shop.example:8080/', 'shop.example'],
  ['https://user:word@shop.example/x@y', 'shop.example'],
  ['https://shop.example', 'shop.example'],
  ['https://shop.example?u=https://other.example/', 'shop.example'],
  ['https://shop.example?mail=a@b.example', 'shop.example'],
  ['/only/a/path', undefined],
])('dest of %s is %s', (url, dest) => {
  const expression =
    /^if\(match\('request\.url', "(.+?)"\), replace\('request\.url', "(.+)", "\\1"\), null\(\)\)$/.exec(
      props.get('EVAL-dest') ?? '',
    )
  const [, condition = '', pattern = ''] = expression ?? []
  expect(expression).not.toBeNull()
  const made = new RegExp(condition).test(url) ? url.replace(new RegExp(pattern), '$1') : undefined
  expect(made).toBe(dest)
})

test('each tag belongs to an event type that is defined', () => {
  const types = [...readConf('eventtypes.conf').keys()]
  const tagged = [...readConf('tags.conf').keys()].map((stanza) => stanza.replace('eventtype=', ''))
  expect(tagged).toEqual(types)
})
