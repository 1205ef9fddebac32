import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/domain/event/event.ts'
import { jsonText, type Json } from '../../../src/domain/text/json.ts'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { eventsOf, toEvent } from '../../../src/shield/entries/to-event.ts'
import { defaults, entry, log, zone } from '../samples.ts'

const off = createRedactor('off')
const on = createRedactor(defaults)
const all = createRedactor({ ...defaults, query: ['q', 'a'], addresses: 'mask' })
const labelled = (labels: Json) => toEvent(entry({ labels }), zone, off)
const logged = (value: Json) => toEvent(entry({ log: value }), zone, off)

describe('an entry as the vendor prints it', () => {
  it('becomes an event', () => {
    const { raw, fingerprint, ...rest } = toEvent(entry(), zone, on)
    expect(rest).toEqual({
      id: '5f0c1d9e-7a43-4c43-9d5e-0f6c6a0b1c2d',
      time: '2025-11-20T12:00:00.123Z',
      timeMs: 1_763_640_000_123,
      zone,
      action: 'Blocked',
      rule: { id: '930130', message: 'Restricted File Access Attempt' },
      request: {
        id: '0a1b2c3d',
        method: 'GET',
        url: 'https://shop.example/.env?x=1',
        userAgent: 'curl/8.0',
      },
      client: { address: '1.2.3.*', asn: 48090, country: 'BG' },
      pop: 'SG',
      match: { operator: 'PMF', value: '.env' },
      labels: entry()['labels'],
      log,
    })
    expect(fingerprint).toBe(fingerprintOf({ id: rest.id, time: rest.time ?? '' }))
    expect(raw()).toEqual(entry())
  })

  it('keeps the text of a log that needs no redaction unchanged', () => {
    const text = String.raw`{ "Message" : "\u003Cscript\u003E", "big": 12345678901234567890, "Message" : "twice" }`
    expect(toEvent(entry({ log: text }), zone, on).raw()['log']).toBe(text)
  })
})

describe('id', () => {
  it.each([
    ['a', 'a'],
    [7, '7'],
    [0, '0'],
    [-1.5, '-1.5'],
    [2 ** 53, '9007199254740992'],
  ])('%j', (logId, id) => expect(toEvent(entry({ logId }), zone, off).id).toBe(id))

  it.each([undefined, null, '', {}, [], true])('%j is none: the entry is', (value) => {
    const logId = value as Json
    const first = toEvent(entry({ logId }), zone, off)
    expect(first.id).toMatch(/^sha256:[\da-f]{32}$/)
    expect(toEvent(entry({ logId, log: 'another' }), zone, off).id).not.toBe(first.id)
  })

  it('does not depend on the order of keys', () => {
    const { logId: _, ...rest } = entry()
    const turned = Object.fromEntries(Object.entries(rest).reverse())
    expect(toEvent(turned, zone, off).id).toBe(toEvent(rest, zone, off).id)
  })
})

describe('labels', () => {
  it('have a status or an action', () => {
    for (const status of ['100', '403', '599', 403])
      expect(labelled({ status })).toMatchObject({ response: { status: Number(status) } })
    for (const status of ['Blocked', 'LOGGED', '099', '600', '40 3', '4033'])
      expect(labelled({ status })).toMatchObject({ action: status })
    expect(labelled({ status: '403' }).action).toBeUndefined()
    expect(labelled({ status: '600' }).response).toBeUndefined()
  })

  it.each([
    ['48090', 48090],
    ['AS48090', 48090],
    ['as 1', 1],
    [48090, 48090],
    ['4294967295', 4294967295],
    ['4294967296', undefined],
    ['99999999999', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['', undefined],
    ['AS', undefined],
  ])('asn %j is %j', (asn, number) => expect(labelled({ asn }).client?.asn).toBe(number))

  it('leaves out empty values, and keeps the labels as received', () => {
    const labels = {
      asn: '',
      country: ' ',
      ruleId: null,
      severity: '',
      method: '',
      ruleGroup: [],
      status: '',
    }
    const event = toEvent({ logId: 'a', labels, log: null }, zone, on)
    const { id, fingerprint, raw } = event
    expect(event).toEqual({ id, fingerprint, zone, labels, log: {}, raw })
  })

  it('turns severity to lower case and countries to upper case', () => {
    const labels = { severity: 'CRITICAL', country: 'bg' }
    expect(labelled(labels)).toMatchObject({ severity: 'critical', client: { country: 'BG' } })
  })

  it('are none if they are no object', () => {
    for (const labels of [null, undefined, [], 'text', 7]) expect(labelled(labels as Json).labels).toEqual({})
  })
})

describe('log', () => {
  it.each([
    [null, {}],
    [undefined, {}],
    ['', {}],
    ['plain text', { text: 'plain text' }],
    ['{"cut', { text: '{"cut' }],
    ['[1,2]', { text: '[1,2]' }],
    ['null', { text: 'null' }],
    ['  {"Message":"m"}', { Message: 'm' }],
    [{ Message: 'm' }, { Message: 'm' }],
    [[1, { a: 2 }], { text: '[1,{"a":2}]' }],
    [42, { text: '42' }],
    [false, { text: 'false' }],
  ])('%j', (received, expected) => {
    const event = logged(received as Json)
    expect(event.log).toEqual(expected)
    expect(event.raw()['log']).toEqual(received)
  })

  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['2001:db8::1', '2001:db8::1'],
    ['1.2.3.*', undefined],
    ['0.0.0.0', undefined],
    ['::', undefined],
    ['fe80::1%eth0', undefined],
    ['1.2.3.256', undefined],
    ['host', undefined],
  ])('address %j has the ip %j', (RemoteIp, ip) => {
    const { client } = logged({ RemoteIp })
    expect(client?.address).toBe(RemoteIp)
    expect(client?.ip).toBe(ip)
  })

  it('reads headers as a list or as an object, the first of a name, in any case', () => {
    const empty = [null, 'x', { Name: 5 }, { Name: 'USER-AGENT', Value: '' }]
    const list = [...empty, { name: 'user-agent', value: 'a' }, { Name: 'User-Agent', Value: 'b' }]
    expect(logged({ Headers: list }).request?.userAgent).toBe('a')
    expect(logged({ Headers: { 'User-Agent': 'c' } }).request?.userAgent).toBe('c')
  })

  it('treats hostile keys as data', () => {
    const text = '{"__proto__":{"Message":"m"},"constructor":1,"toString":"x","hasOwnProperty":0}'
    const received = JSON.parse(`{"logId":"a","__proto__":{"b":1},"log":${JSON.stringify(text)}}`) as Json
    const event = toEvent(received, zone, all)
    expect(JSON.stringify(event.log)).toBe(text)
    expect(event.rule).toBeUndefined()
    expect(JSON.stringify(event.raw())).toContain('"__proto__":{"b":1}')
    expect(Object.getPrototypeOf(event.log)).toBe(Object.prototype)
  })
})

describe('a list item that is not an entry', () => {
  it.each([null, 'text', 7, true, [1, 'a'], ''])('%j keeps its text', (value) => {
    const event = toEvent(value, zone, on)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    expect(event.log).toEqual({ text })
    expect(event.raw()).toEqual({ text })
    expect(event.id).toMatch(/^sha256:/)
  })
})

describe('any JSON whatever', () => {
  it.each(['log', 'labels', 'logId', 'timestamp', 'more'])('survives 100,000 levels in %s', (key) => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    for (const nested of [deep, JSON.stringify(`{"a":${deep}}`)]) {
      const value = JSON.parse(`{"logId":null,"log":"x","${key}":${nested}}`) as Json
      for (const redactor of [off, all]) {
        const event = toEvent(value, zone, redactor)
        expect(jsonText(event.log).length).toBeGreaterThan(1)
        expect(jsonText(event.raw()).length).toBeGreaterThan(100_000)
        expect(toEvent(value, zone, redactor).id).toBe(event.id)
      }
    }
    expect(() => toEvent(JSON.parse(deep) as Json, zone, on)).not.toThrow()
  })
})

// prettier-ignore
const members = [
  'id', 'time', 'timeMs', 'fingerprint', 'zone', 'action', 'severity', 'rule', 'request', 'response', 'client', 'pop',
  'match', 'labels', 'log',
] as const satisfies readonly (keyof Event)[]

function readOf(event: Event): unknown[] {
  return [...members.map((name) => event[name]), event.raw()]
}

const entries = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc
    .record({ logId: fc.string(), timestamp: fc.nat(), labels: fc.jsonValue(), log: fc.jsonValue() })
    .map((changes) => entry(changes as Record<string, Json>)),
) as fc.Arbitrary<Json>

describe('the entries of a page', () => {
  it('have the same values as events, in any order of access', () => {
    fc.assert(
      fc.property(fc.array(entries, { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (page, looks) => {
        const events = eventsOf(page, zone, on)
        const looked = [...looks.map((place) => place % page.length), ...page.keys()]
        for (const place of looked)
          expect(readOf(events[place]!)).toEqual(readOf(toEvent(page[place]!, zone, on)))
      }),
      { numRuns: 300 },
    )
  })

  it('have an identity without decoding the log', () => {
    let decoded = 0
    const counting: typeof on = (rest, log) => {
      decoded++
      return on(rest, log)
    }
    const [event] = eventsOf([entry()], zone, counting)
    expect([event!.id, event!.timeMs, event!.fingerprint]).not.toContain(undefined)
    expect(decoded).toBe(0)
    expect([event!.action, event!.log, event!.raw()]).not.toContain(undefined)
    expect(decoded).toBe(1)
  })
})
