import * as fc from 'fast-check'
import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Json, JsonObject } from '../../../src/domain/text/json.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import {
  maskAddress,
  replaceAddresses,
  createRedactor,
  type Redaction,
} from '../../../src/shield/redaction/redact.ts'
import { redactedHeaders, redactedQuery } from '../../../src/shield/redaction/defaults.ts'
import { toEvent } from '../../../src/shield/entries/to-event.ts'
import { defaults, entry, log, zone } from '../samples.ts'

const settings = (changes: object): Redaction => ({ ...defaults, ...changes })

function eventOf(received: Json, redaction: Redaction = defaults, changes: Record<string, Json> = {}) {
  return toEvent(entry({ log: received, ...changes }), zone, createRedactor(redaction))
}

function written(event: Event): string {
  return JSON.stringify([{ ...event, fingerprint: String(event.fingerprint) }, event.raw()])
}

/** Everything that leaves the process of an event. */
function shown(received: Json, redaction: Redaction = defaults, changes: Record<string, Json> = {}): string {
  return written(eventOf(received, redaction, changes))
}

it('the usual names of keys, tokens and passwords are masked by default', () => {
  const headers = [
    'cookie set-cookie authorization proxy-authorization x-forwarded-authorization',
    'x-api-key api-key x-goog-api-key x-auth-token x-access-token x-csrf-token x-vault-token',
    'private-token x-amz-security-token cf-access-jwt-assertion',
  ]
  const query = [
    'token access_token refresh_token id_token password passwd api_key apikey secret client_secret',
    'signature session code',
  ]
  expect(defaults.headers).toEqual(expect.arrayContaining(headers.join(' ').split(' ')))
  expect(defaults.query).toEqual(expect.arrayContaining(query.join(' ').split(' ')))
})

describe('headers', () => {
  it.each([...redactedHeaders, 'COOKIE', 'X-Api-Key', ' Authorization '])('masks %j', (Name) => {
    for (const received of [
      `GET / HTTP/1.1\r\n${Name.trim()}: hunter2\r\nHost: h`,
      { Headers: [{ Name, Value: 'hunter2' }] },
      { Headers: [{ name: Name, value: 'hunter2' }] },
      { Headers: { [Name]: 'hunter2' } },
      { [Name]: 'hunter2' },
      { Deep: { er: [{ [Name]: ['hunter2', { a: 'hunter2' }] }] } },
      { Unknown: [{ Name, Value: { nested: 'hunter2' } }] },
    ]) {
      for (const form of [received, JSON.stringify(received)]) {
        const text = shown(form)
        expect(text).not.toContain('hunter2')
        expect(text).toContain('[redacted]')
      }
    }
  })

  it('keeps the form of the log', () => {
    const received = { Headers: [{ Name: 'Cookie', Value: 'hunter2' }], Message: 'm' }
    const clean = { Headers: [{ Name: 'Cookie', Value: '[redacted]' }], Message: 'm' }
    expect(eventOf(received).raw()['log']).toEqual(clean)
    expect(eventOf(JSON.stringify(received)).raw()['log']).toBe(JSON.stringify(clean))
    expect(Object.keys(eventOf(JSON.stringify(received)).raw())).toEqual(Object.keys(entry()))
  })

  it('masks them outside the log, too', () => {
    const headers = [{ Name: 'Cookie', Value: 'hunter2' }]
    const changes = { headers, authorization: 'hunter3', labels: { cookie: 'hunter4' } }
    expect(shown('{}', defaults, changes)).not.toMatch(/hunter\d/)
  })

  it('keeps empty values, and other headers', () => {
    const Headers = [['Cookie', ''] as const, ['Host', 'h'] as const].map(([Name, Value]) => ({
      Name,
      Value,
    }))
    const received = { Headers, Cookie: null }
    expect(eventOf(received).log).toBe(received)
  })
})

describe('a value that was masked in one place', () => {
  const cookie = 'sid=abcdef123456; theme=dark; pre%3Dferred=%2Ftmp%2Fsecret'
  const received = {
    Headers: [
      { Name: 'Cookie', Value: cookie },
      { Name: 'Referer', Value: 'https://shop.example/?s=abcdef123456' },
    ],
    Message: 'session abcdef123456 is known',
    Url: 'https://shop.example/a;sid=abcdef123456?f=/tmp/secret',
    TriggerMatch: { Key: 'RX', Value: cookie },
    More: ['abcdef123456'],
  }

  it('is masked everywhere else', () => {
    for (const form of [received, JSON.stringify(received)]) {
      const text = shown(form, defaults, { labels: { status: 'Blocked', method: 'abcdef123456' } })
      expect(text).not.toContain('abcdef123456')
      expect(text).not.toContain('/tmp/secret')
    }
    const event = eventOf(received)
    expect(event.match).toEqual({ operator: 'RX', value: '[redacted]' })
    expect(event.rule?.message).toBe('session [redacted] is known')
    expect(event.request?.url).toBe('https://shop.example/a;[redacted]?f=[redacted]')
  })

  it('hides neither the action nor the rule nor the origin, with any cookie', () => {
    const Value = 'a=Blocked; b=930130; c=203.0.113.9; d=User-Agent; e=curl/8.0; f=redacted'
    const Headers = [{ Name: 'Cookie', Value }, ...(log['Headers'] as Json[])]
    expect(eventOf({ ...log, RemoteIp: '203.0.113.9', Headers })).toMatchObject({
      action: 'Blocked',
      rule: { id: '930130' },
      client: { ip: '203.0.113.9' },
      request: { userAgent: '[redacted]' },
    })
  })

  it('is kept elsewhere if it is too short for a secret', () => {
    const event = eventOf({ Cookie: 'a=1; b=GET', Message: 'GET 1' })
    expect(event.rule?.message).toBe('GET 1')
  })

  it('needs bounded time for thousands of cookies', () => {
    const Value = Array.from({ length: 20_000 }, (_, n) => `cookie${n}=value-of-${n}`).join('; ')
    const text = shown({ Headers: [{ Name: 'Cookie', Value }], Message: Value.repeat(3) })
    expect(text).not.toContain('value-of-1;')
  })

  it('needs bounded time for a value that is encoded many times over', () => {
    const text = shown({ Headers: [{ Name: 'Cookie', Value: `sid=%${'25'.repeat(50_000)}41abcdef` }] })
    expect(text).not.toContain('abcdef')
  })
})

it('bodies are dropped unless configured otherwise', () => {
  const received = { UrlEncodedBody: 'user=hunter2' }
  expect(eventOf(received).log).toEqual({ UrlEncodedBody: '[redacted]' })
  expect(eventOf(received, settings({ body: 'keep' })).log).toBe(received)
  expect(eventOf({ UrlEncodedBody: null }).log).toEqual({ UrlEncodedBody: null })
})

describe('query parameters', () => {
  const query = settings({ query: ['Token', 'api_key'], body: 'keep' })

  it.each([
    ['https://h/?token=hunter2&a=1', 'https://h/?token=[redacted]&a=1'],
    ['https://h/?a=1&TOKEN=hunter2#f', 'https://h/?a=1&TOKEN=[redacted]#f'],
    ['https://h/?%74oken=hunter2', 'https://h/?%74oken=[redacted]'],
    ['https://h/?api%5Fkey=hunter2', 'https://h/?api%5Fkey=[redacted]'],
    ['https://h/?token[]=hunter2&token=hunter2', 'https://h/?token[]=[redacted]&token=[redacted]'],
    ['https://h/?x=?token=hunter2', 'https://h/?x=?token=[redacted]'],
    ['https://h/?mytoken=kept&token=&%=1', 'https://h/?mytoken=kept&token=&%=1'],
  ])('%s', (Url, expected) => expect(eventOf({ Url }, query).request?.url).toBe(expected))

  it.each([...redactedQuery, 'TOKEN', 'Client_Secret'])('mask the value of %s by default', (name) => {
    const received = {
      Url: `https://h/?a=1&${name}=hunter2&b=2`,
      Headers: [{ Name: 'Referer', Value: `https://h/?${name}=hunter2` }],
      Message: 'hunter2',
    }
    expect(eventOf(received).request?.url).toBe(`https://h/?a=1&${name}=[redacted]&b=2`)
    for (const form of [received, JSON.stringify(received), `GET /?${name}=hunter2 HTTP/1.1`])
      expect(shown(form)).not.toContain('hunter2')
  })
})

describe('plain text', () => {
  it.each([
    'Cookie: hunter2',
    'line one\nAuthorization: Bearer hunter2\r\nline three',
    'cookie = hunter2',
    '{"Headers":[{"Name":"Cookie","Value":"hunter2"},{"Na',
    '{"Cookie":"hunter2","Url":"https',
    String.raw`{\"Cookie\":\"hunter2`,
    "{'Cookie': 'hunter2'",
    '{"UrlEncodedBody":"p=hunter2',
    String.raw`{"Cookie":"a\"hunter2","x`,
    '[{"Name":"Set-Cookie","Value":"hunter2"}]',
    'request failed, set-cookie: a=hunter2; Path=/',
  ])('%s', (text) => {
    expect(shown(text)).not.toContain('hunter2')
    expect(shown([text, { Cookie: 'hunter2' }])).toContain('[redacted]')
    expect(written(toEvent(text, zone, createRedactor(defaults)))).not.toContain('hunter2')
  })

  it('keeps the text around a value', () => {
    expect(eventOf('a\nCookie: x\nb').log).toEqual({ text: 'a\nCookie: [redacted]\nb' })
    expect(eventOf('{"Cookie":"x","Url":"u').log).toEqual({ text: '{"Cookie":"[redacted]","Url":"u' })
    expect(eventOf('no cookies here').log).toEqual({ text: 'no cookies here' })
  })

  it('treats deeply nested values as text', () => {
    const log = JSON.parse(`${'['.repeat(5000)}{"Cookie":"hunter2"}${']'.repeat(5000)}`) as Json
    expect(written(toEvent({ logId: 'a', log }, zone, createRedactor(defaults)))).not.toContain('hunter2')
  })
})

describe('addresses', () => {
  it.each([
    ['1.2.3.4', '1.2.3.*'],
    ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::*'],
    ['2001:DB8::1', '2001:db8:0:0::*'],
    ['::1', '0:0:0:0::*'],
    ['::ffff:1.2.3.4', '::ffff:1.2.3.*'],
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0::*'],
  ])('%s is shown as %s', (address, masked) => {
    expect(maskAddress(address)).toBe(masked)
    // An event that was kept is redacted once more.
    expect(replaceAddresses(`from ${masked}`, maskAddress)).toBe(`from ${masked}`)
  })

  it('are masked also before a star', () => {
    const text = 'from 2001:db8:0:1:2::3* and 2001:db8::1* and 203.0.113.9*'
    expect(replaceAddresses(text, () => 'x')).toBe('from x* and x* and x*')
  })

  it('are found in text, and nothing else is', () => {
    const text =
      'from 1.2.3.4:80, ip:5.6.7.8; [2001:db8::1]:443 at 12:34:56 v1.2.3.4.5 1.2.3.999 a:b::c x::y 10.0.0.1.'
    expect(replaceAddresses(text, () => '#')).toBe(
      'from #:80, ip:#; [#]:443 at 12:34:56 v1.2.3.4.5 1.2.3.999 # x::y #.',
    )
  })

  const received: JsonObject = {
    RemoteIp: '203.0.113.9',
    Message: 'client 203.0.113.9 seen',
    Url: 'https://h/?ip=203.0.113.9',
    Headers: [{ Name: 'X-Forwarded-For', Value: '203.0.113.9, 2001:db8:1:2:3::4' }],
  }

  it('can be masked', () => {
    const mask = settings({ addresses: 'mask' })
    const event = eventOf(received, mask)
    expect(event.client).toMatchObject({ address: '203.0.113.*' })
    expect(event.client?.ip).toBeUndefined()
    expect(event.rule?.message).toBe('client 203.0.113.* seen')
    expect(shown(received, mask)).not.toMatch(/203\.0\.113\.9|:3::4/)
    expect(eventOf({ RemoteIp: '1.2.3.*' }, mask).client?.address).toBe('1.2.3.*')
    expect(shown('from 1.2.3.4', mask)).toContain('from 1.2.3.*')
  })

  it('can be hashed with a key, in one spelling, also when they are redacted again', () => {
    const hash = settings({ addresses: 'hash', addressKey: new Secret('k'.repeat(16)) })
    const addressOf = (address: string, by = hash) => eventOf({ RemoteIp: address }, by).client?.address
    const { client } = eventOf(received, hash)
    const hashed = createHmac('sha256', 'k'.repeat(16)).update('203.0.113.9').digest('hex').slice(0, 16)
    expect(client).toMatchObject({ address: `h:${hashed}` })
    expect(client?.ip).toBeUndefined()
    expect(shown(received, hash)).not.toMatch(/203\.0\.113\.9|:3::4/)
    expect(addressOf(`h:${hashed}`)).toBe(`h:${hashed}`)
    expect(addressOf('::ffff:203.0.113.9')).toBe(`h:${hashed}`)
    expect(addressOf('2001:DB8:0:0::1')).toBe(addressOf('2001:db8::1'))
    expect(addressOf('203.0.113.*')).toMatch(/^h:[\da-f]{16}$/)
    const other = settings({ addresses: 'hash', addressKey: new Secret('another key of 16') })
    expect(addressOf('203.0.113.9', other)).not.toBe(`h:${hashed}`)
  })

  it('can be dropped, and are kept by default', () => {
    const drop = settings({ addresses: 'drop' })
    for (const one of [received, { RemoteIp: '1.2.3.*' }])
      expect(eventOf(one, drop).client?.address).toBe('[redacted]')
    expect(shown(received, drop)).not.toMatch(/203\.0\.113|2001:db8/)
    expect(eventOf(received).client).toMatchObject({ address: '203.0.113.9', ip: '203.0.113.9' })
  })

  it('never show their last octet or groups, in any notation', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        expect(isIP(address)).not.toBe(0)
        const masked = maskAddress(address)
        expect(masked).toMatch(/\*$/)
        expect(isIP(masked)).toBe(0)
      }),
    )
  })
})

it('without redaction nothing changes', () => {
  const received = { Cookie: 'a', UrlEncodedBody: 'b', RemoteIp: '1.2.3.4' }
  expect(eventOf(received, 'off').log).toBe(received)
})

it('any secret in any place is never shipped', () => {
  const secret = 'Zq7-hunter2-Zq7'
  const keys = fc.constantFrom('Url', 'Message', 'cookie', 'Name', 'Value', '__proto__', 'a')
  const nested = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(secret, `a ${secret} b`, `x=${secret}`, 'plain', 7, null),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(keys, tie('node'), { maxKeys: 4 }),
    ),
  })).node
  fc.assert(
    fc.property(nested, (node) => {
      const Headers = [{ Name: 'Cookie', Value: `sid=${secret}` }]
      const text = shown(JSON.stringify({ Headers, Url: `https://h/${secret}`, Any: node }))
      const names = /"Name":"[^"]*Zq7-hunter2/.test(text)
      expect(names || !text.includes(secret)).toBe(true)
    }),
  )
})
