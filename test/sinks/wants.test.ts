import { describe, expect, it } from 'vitest'
import { wantsOf, type Routing } from '../../src/sinks/wants.ts'
import { buildEvent, buildEvents, type EventParts } from '../formats/events.ts'

function wanted(routing: Routing, parts: EventParts = {}): boolean {
  return wantsOf(routing)?.(buildEvent(parts)) ?? true
}

describe('where', () => {
  it.each<[string, Routing['where'], boolean]>([
    ['a zone by its id', { zones: [101] }, true],
    ['a zone by its name', { zones: ['shop'] }, true],
    ['a zone that is not listed', { zones: [102, 'blog'] }, false],
    ['an action in any case', { actions: ['blocked'] }, true],
    ['an action that is not listed', { actions: ['Logged', 'Challenged'] }, false],
    ['an action that is not kept out', { actions: { not: ['Logged'] } }, true],
    ['an action that is kept out', { actions: { not: ['BLOCKED'] } }, false],
    ['a severity in any case', { severities: ['CRITICAL'] }, true],
    ['a rule by a number', { rules: [930_130] }, true],
    ['a rule by a text', { rules: ['930130'] }, true],
    ['a country in any case', { countries: ['bg'] }, true],
    ['a country that is kept out', { countries: { not: ['BG', 'DE'] } }, false],
    ['a host in any case', { hosts: ['SHOP.example'] }, true],
    ['a pattern of hosts', { hosts: ['*.example'] }, true],
    ['a host that is longer', { hosts: ['shop'] }, false],
    ['a path without its query', { paths: ['/.env'] }, true],
    ['a pattern of paths', { paths: ['/*.e*v'] }, true],
    ['a pattern of which the ends overlap', { paths: ['/.env*v'] }, false],
    ['a path in another case', { paths: ['/.ENV'] }, false],
    ['a path that is kept out', { paths: { not: ['/.*'] } }, false],
    ['a method in any case', { methods: ['get'] }, true],
    ['a system by its number', { asns: [48_090] }, true],
    ['a system that is not listed', { asns: [64_500] }, false],
    ['a masked address in a network', { addresses: ['198.51.100.0/24', '192.0.2.0/24'] }, true],
    ['a masked address of which a part is listed', { addresses: ['192.0.2.0/25'] }, false],
    ['a user agent by a pattern in any case', { userAgents: ['*MOZILLA/*'] }, true],
    ['one of the alternatives', { any: [{ rules: [1] }, { hosts: ['shop.*'], methods: ['GET'] }] }, true],
    ['none of the alternatives', { any: [{ rules: [1] }, { hosts: ['shop.*'], methods: ['POST'] }] }, false],
    ['an alternative and a list', { actions: ['Logged'], any: [{ methods: ['GET'] }] }, false],
    ['all lists that are given', { actions: ['Blocked'], countries: ['BG'] }, true],
    ['one list of two', { actions: ['Blocked'], countries: ['DE'] }, false],
  ])('decides by %s', (_, where, passes) => {
    expect(wanted({ where })).toBe(passes)
  })

  it.each(['shop.example.', 'SHOP.EXAMPLE.:443', 'shop.example:', 'shop.example:00443', 'bob@shop.example'])(
    'decides by the host of https://%s/ however a client writes it',
    (host) => {
      const parts = { request: { url: `https://${host}/a` } }
      for (const listed of ['shop.example', 'shop.example.', '*.example'])
        expect(wanted({ where: { hosts: [listed], paths: ['/a'] } }, parts), listed).toBe(true)
    },
  )

  it('an event without the value passes no list, and every not', () => {
    const bare = { id: 'x', labels: {}, log: {}, client: {}, rule: {} }
    const absent = [
      'rules',
      'countries',
      'hosts',
      'paths',
      'methods',
      'asns',
      'userAgents',
      'addresses',
    ] as const
    for (const key of absent) {
      const value = key === 'addresses' ? '192.0.2.1' : '*'
      expect(wanted({ where: { [key]: [value] } }, { ...bare, request: {} })).toBe(false)
      expect(wanted({ where: { [key]: { not: [value] } } }, { ...bare, request: {} })).toBe(true)
    }
  })

  it('passes everything without a list', () => {
    expect(wantsOf({})).toBeUndefined()
    expect(wantsOf({ where: {}, sample: {} })).toBeUndefined()
  })
})

it.each([
  ['203.0.113.9', '203.0.113.9', true],
  ['203.0.113.9', '203.0.113.12/30', false],
  ['::ffff:203.0.113.9', '203.0.113.0/24', true],
  ['203.0.*', '203.0.0.0/16', true],
  ['2001:db8:0:1::9', '2001:db8::/32', true],
  ['2001:db8:0:1::*', '2001:db8:0:1::/64', true],
  ['2001:db8:0:1::*', '2001:db8:0:1::/96', false],
  ['2001:db8::1', '203.0.113.0/24', false],
  ['fe80::1%eth0', 'fe80::/10', false],
  ['203.0.113.*.*.*', '0.0.0.0/0', false],
  ['*', '0.0.0.0/0', true],
  ['[redacted]', '0.0.0.0/0', false],
])('of the client %s and the network %s', (address, network, passes) => {
  expect(wanted({ where: { addresses: [network] } }, { client: { address } })).toBe(passes)
})

describe('sample', () => {
  const events = buildEvents(2000).map((event) => ({ ...event, action: 'Logged' }))
  const shareOf = (share: number) => {
    const wants = wantsOf({ sample: { actions: { logged: share } } })!
    return new Set(events.filter(wants).map(({ id }) => id))
  }

  it('keeps about the share of the events with that action, and all others', () => {
    expect(shareOf(0).size).toBe(0)
    expect(shareOf(1).size).toBe(2000)
    expect(Math.abs(shareOf(0.1).size - 200)).toBeLessThan(60)
    expect(wanted({ sample: { actions: { Logged: 0 } } })).toBe(true)
  })

  it('goes by rule too; the smaller of two shares counts', () => {
    expect(wanted({ sample: { rules: { '930130': 0 } } })).toBe(false)
    expect(wanted({ sample: { actions: { Blocked: 1 }, rules: { '930130': 0 } } })).toBe(false)
    expect(wanted({ sample: { rules: { '1': 0 } } })).toBe(true)
  })

  it('decides by the event, so that a re-read decides the same and a larger share keeps what a smaller one kept', () => {
    const small = shareOf(0.1)
    expect(shareOf(0.1)).toEqual(small)
    expect([...small].filter((id) => !shareOf(0.3).has(id))).toEqual([])
  })
})
