import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { createNativeFormat } from '../../src/formats/native.ts'
import { nativeSchema } from '../../src/formats/native-schema.ts'
import { buildEvent } from './events.ts'

const native = createNativeFormat()
const validate = new Ajv2020({ strict: true }).compile(nativeSchema)

it('replaces lone surrogates, and keeps text that only looks like one', () => {
  const line = native.encode(buildEvent({ action: 'a\ud800\\ud800', pop: '\u2028😀' }))
  const read = JSON.parse(line) as Record<string, unknown>
  expect(read['action']).toBe('a\ufffd\\ud800')
  expect(read['pop']).toBe('\u2028😀')
})

it('encodes values that are too deep for JSON.stringify', () => {
  const deep = JSON.parse(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`) as Record<string, never>
  const line = native.encode(buildEvent({ log: deep, response: { status: 200 } }))
  expect(line.endsWith(`"log":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`)).toBe(true)
  expect(line.startsWith('{"v":1,"id":"f3b4')).toBe(true)
  expect(native.identify(line)).toEqual({ id: buildEvent().id, time: buildEvent().time })
})

it('has who and what before all that a client can make long, where receivers cut lines or stop to extract fields', () => {
  const long = 'x'.repeat(12_000)
  const url = `https://shop.example/${long}`
  const { client, rule, response, pop, action, severity } = buildEvent({ response: { status: 403 } })
  const event = buildEvent({
    response: response!,
    match: { operator: 'PMF', value: long },
    request: { id: long, method: 'GET', url, userAgent: long },
    other: { long },
    labels: { long },
    log: { Url: url },
  })
  const short = { action, severity, rule, client, response, pop }
  const beginning = createNativeFormat({ raw: true }).encode(event).slice(0, 1_000)
  expect(beginning).toContain(JSON.stringify(short).slice(1, -1))
  expect(beginning).toContain('"match":{"operator":"PMF"')
})

describe('the schema', () => {
  it.each([
    ['an empty string', { action: '' }],
    ['null', { rule: null }],
    ['a number as rule id', { rule: { id: 930_130 } }],
    ['an upper case severity', { severity: 'CRITICAL' }],
    ['a time without zone', { time: '2025-11-20T10:11:12.123' }],
    ['a status that is none', { response: { status: 99 } }],
    ['text instead of a log', { log: 'x' }],
  ])('refuses %s', (_, wrong) => {
    const good = JSON.parse(native.encode(buildEvent())) as object
    expect(validate(good)).toBe(true)
    expect(validate({ ...good, ...wrong })).toBe(false)
  })
})
