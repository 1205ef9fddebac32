import * as fc from 'fast-check'
import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Json, JsonObject } from '../../../src/domain/text/json.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import { maskAddress, replaceAddresses } from '../../../src/shield/redaction/addresses.ts'
import { createRedactor, type Redaction } from '../../../src/shield/redaction/redact.ts'
import { toEvent } from '../../../src/shield/entries/to-event.ts'
import { defaults, entry, zone } from '../samples.ts'

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

describe('headers', () => {
  const secrets = 'Cookie,COOKIE,X-Api-Key, Authorization ,HTTP_AUTHORIZATION,Own,ASP.NET_SessionId,2fa-token'
  it.each([...secrets.split(','), '_token', '-x~auth', 'x|my+sid'])('masks %j in every shape', (Name) => {
    const name = Name.trim()
    for (const received of [
      `GET / HTTP/1.1\r\n${name}: hunter2\r\nHost: h`,
      { Request: `GET / HTTP/1.1\r\nHost: h\r\n${name}: hunter2 a\r\n\thunter2\r\nAccept: *` },
      { Headers: [{ Name, Value: 'hunter2' }] },
      { Headers: [{ name: Name, value: 'hunter2' }] },
      { headers: [{ Key: Name, Value: 'hunter2' }] },
      { HEADERS: [{ VALUE: ['hunter2'], KEY: Name }] },
      { Headers: [[Name, 'hunter2']] },
      { Headers: ['Host', 'h', Name, 'hunter2'] },
      { Headers: [`${name}: hunter2`, `${name} : hunter2; a="hunter2"`, `${name}:hunter2`] },
      { Headers: `Host: h\n${name}: hunter2` },
      { Headers: { [Name]: 'hunter2' } },
      { [Name]: 'hunter2' },
      { Deep: { er: [{ [Name]: ['hunter2', { a: 'hunter2' }] }] } },
      { Unknown: [{ Name, Value: { nested: 'hunter2' } }] },
      { Details: JSON.stringify({ Headers: [{ Name: name, Value: 'a "hunter2' }], [name]: 'hunter2' }) },
      { Details: JSON.stringify([name, 'hunter2']) },
      { Details: JSON.stringify({ All: [{ VALUE: 'hunter2', KEY: Name }] }, null, 2) },
      { Details: JSON.stringify(JSON.stringify({ [name]: 'a" hunter2' })) },
      { Details: JSON.stringify({ [name]: 'a" hunter2' }).slice(0, -4) },
    ]) {
      for (const form of [received, JSON.stringify(received)]) {
        const text = shown(form, settings({ headers: ['own'] }))
        expect(text).not.toContain('hunter2')
        expect(text).toContain('[redacted]')
      }
    }
  })

  it.each(['_token', '__RequestVerificationToken', 'user[pass]', '@secret'])(
    'masks %s in JSON within text',
    (name) => {
      const Details = JSON.stringify({ [name]: 'hunter2', a: 'b' })
      const clean = Details.replace('hunter2', '[redacted]')
      expect(eventOf({ Details }).log).toEqual({ Details: clean })
      expect(eventOf(Details.slice(0, -1)).log).toEqual({ text: clean.slice(0, -1) })
      if (!/^\w+$/.test(name)) return
      for (const Text of [`Host: h\n${name}: hunter2`, JSON.stringify([`${name}: hunter2`])])
        expect(shown({ Text })).not.toContain('hunter2')
      expect(shown(`of a request, ${name}: hunter2`)).not.toContain('hunter2')
    },
  )

  it.each(['api key', 'x/token', 'ключ-token', '"token"', 'a:password'])(
    'masks %s in whole JSON that is a text',
    (name) => {
      const held = { a: 1.5, [name]: 'hunter2', b: [{ value: ['hunter2'], name }] }
      const Details = JSON.stringify(JSON.stringify(held))
      const clean = { a: 1.5, [name]: '[redacted]', b: [{ value: '[redacted]', name }] }
      for (const place of ['Details', 'Headers', 'TriggerMatch'])
        expect(eventOf({ [place]: Details }).log).toEqual({ [place]: JSON.stringify(JSON.stringify(clean)) })
    },
  )

  it('keeps in JSON that is a text what is named body, which may be what matched', () => {
    const held = { body: '<script>', token: 'hunter2', body2: { body: { a: 1 } }, UrlEncodedBody: 'hunter2' }
    const clean = { ...held, token: '[redacted]', UrlEncodedBody: '[redacted]' }
    for (const received of [held, [held, held]]) {
      const text = JSON.stringify(Array.isArray(received) ? [clean, clean] : clean)
      const { match } = eventOf({ TriggerMatch: { Value: JSON.stringify(received) } })
      expect(match?.value).toBe(text)
    }
    expect(eventOf(JSON.stringify([held, held])).log).toEqual({ text: JSON.stringify([clean, clean]) })
  })

  it('takes nothing in JSON that is a text for a fact', () => {
    for (const name of ['message', 'Status', 'method', 'Url', 'User-Agent', 'RemoteIp', 'name', 'Referer']) {
      const Details = JSON.stringify({ [name]: 'a;token=hunter2 https://bob:hunter2@h/' })
      for (const received of [{ Details }, { TriggerMatch: { Value: Details } }, `[${Details},1]`])
        expect(shown(received), name).not.toContain('hunter2')
    }
  })

  it('reads JSON in which a name stands twice as a text, with all its values', () => {
    for (const held of ['{"x": {"password" : "hunter2"},"x":1}', '{"x":"?token=hunter2","y":[":"],"x":1}']) {
      const told = held.replace('hunter2', '[redacted]')
      for (const place of ['Details', 'TriggerMatch'])
        expect(eventOf({ [place]: held }).log[place]).toBe(told)
    }
    const Value = '{"x":"<script>","token":"hunter2","x":1}'
    expect(eventOf({ TriggerMatch: { Value } }).match?.value).toBe(Value.replace('hunter2', '[redacted]'))
  })

  it('leaves JSON that is a text as it was written where nothing in it is hidden', () => {
    const received = { Details: ' {"a": 1.0, "b" : [ "c" ],\n"a":2}', More: '"[1.0 ]"', Other: '{"a":' }
    expect(eventOf(received).log).toBe(received)
  })

  it('keeps what stands beside a hidden value', () => {
    const received = {
      Headers: ['Cookie: a=1', 'User-Agent: curl', 'Host', 'h', '/a', 'Range: b'],
      Request: 'GET /?a=1 HTTP/1.1\r\nHost: h\r\nCookie: a=1\r\nAccept: */*\r\n\r\nuser=bob',
      Details: '{"otp":123456,"Token":"a,b","next":"c"}',
      Session: false,
      Tags: ['auth', 'waf', 'session'],
    }
    expect(eventOf(received).log).toEqual({
      ...received,
      Headers: ['Cookie: [redacted]', ...received.Headers.slice(1)],
      Request: 'GET /?a=1 HTTP/1.1\r\nHost: h\r\nCookie: [redacted]\r\nAccept: */*\r\n\r\n[redacted]',
      Details: '{"otp":"[redacted]","Token":"[redacted]","next":"c"}',
    })
    expect(eventOf(received, settings({ body: 'keep' })).log['Request']).toMatch(/user=bob$/)
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

describe('a copy of a hidden value', () => {
  const cookie = 'sid=abcdef123456; theme=dark; pre%3Dferred=%2Ftmp%2Fsecret'
  const received = {
    Headers: [
      { Name: 'Cookie', Value: cookie },
      { Name: 'Referer', Value: 'https://shop.example/abcdef123456/?s=xabcdef123456#/tmp/secret' },
      { Name: 'X-Copy', Value: 'abcdef123456' },
    ],
    Message: 'session abcdef123456 is known',
    Url: 'https://shop.example/a;sid=abcdef123456?f=/tmp/secret&g=abcdef123456x',
    TriggerMatch: { Key: 'RX', Value: `x${cookie}` },
    More: ['abcdef123456'],
  }

  it('is hidden in what matched, in the query of URL and referer, and nowhere else', () => {
    const clean = {
      Headers: [
        { Name: 'Cookie', Value: '[redacted]' },
        { Name: 'Referer', Value: 'https://shop.example/abcdef123456/?s=x[redacted]#[redacted]' },
        { Name: 'X-Copy', Value: 'abcdef123456' },
      ],
      Message: 'session abcdef123456 is known',
      Url: 'https://shop.example/a;sid=abcdef123456?f=[redacted]&g=[redacted]x',
      TriggerMatch: { Key: 'RX', Value: 'x[redacted]' },
      More: ['abcdef123456'],
    }
    for (const form of [received, JSON.stringify(received)]) expect(eventOf(form).log).toEqual(clean)
    const other = { ...received, TriggerMatch: undefined, triggermatch: [{ key: 'RX', VALUE: `x${cookie}` }] }
    expect(eventOf(JSON.stringify(other)).log['triggermatch']).toEqual([{ key: 'RX', VALUE: 'x[redacted]' }])
  })

  it.each<[string, (text: string) => string]>([
    ['percent-encoded', encodeURIComponent],
    ['in lower case', (text) => text.toLowerCase()],
    ['percent-encoded in lower case', (text) => encodeURIComponent(text).toLowerCase()],
    ['percent-encoded twice', (text) => encodeURIComponent(encodeURIComponent(text))],
    ['as a form has it', (text) => String(new URLSearchParams({ x: text })).slice(2)],
    [
      'encoded sign by sign',
      (text) =>
        Buffer.from(text)
          .toString('hex')
          .replace(/../g, (byte) => `%${byte}`),
    ],
  ])('is hidden %s', (_how, encode) => {
    for (const value of ['aB/Cd+eF==', 'ab c%41d', 'pässwörd 😀 ñ', '%2B%2b+abcd', '密码是什么吗']) {
      const [open, encoded] = [encode(value), encodeURIComponent(encode(value))]
      for (const held of [value, encodeURIComponent(value), encodeURIComponent(encodeURIComponent(value))])
        for (const Name of ['X-Token', 'Cookie'])
          expect(
            eventOf({
              Headers: [
                { Name, Value: Name === 'Cookie' ? `sid=${encodeURIComponent(held)}; a=b` : held },
                { Name: 'Referer', Value: `https://h/${open}?x=é${encoded}%` },
              ],
              Url: `https://h/?😀=%&a=${encoded}%C3&b`,
              TriggerMatch: { Value: `ü${open}ü` },
            }).log,
          ).toEqual({
            Headers: [
              { Name, Value: '[redacted]' },
              { Name: 'Referer', Value: `https://h/${open}?x=é[redacted]%` },
            ],
            Url: 'https://h/?😀=%&a=[redacted]%C3&b',
            TriggerMatch: { Value: 'ü[redacted]ü' },
          })
    }
  })

  it('is hidden in the referer in every shape', () => {
    const [copy, clean] = ['abcdef123456', '[redacted]'].map((text) => `https://h/abcdef123456?x=${text}`)
    const formsOf = (url: string, cookie: string) => [
      [`Cookie: ${cookie}`, `referer : ${url}`],
      [
        ['Cookie', cookie],
        ['Referer', url],
      ],
      ['Cookie', cookie, 'REFERRER', url],
      `GET / HTTP/1.1\r\nReferer: ${url}\r\nCookie: ${cookie}\r\nX-Referer: ${copy}`,
      { Cookie: cookie, Referer: [url] },
    ]
    const cleanForms = formsOf(clean!, '[redacted]')
    for (const [index, Headers] of formsOf(copy!, 'sid=abcdef123456').entries())
      expect(eventOf({ Headers }).log).toEqual({ Headers: cleanForms[index] })
  })

  it('is hidden in a log that is text', () => {
    const text = 'abcdef123456 was seen\nCookie: sid=abcdef123456\n'
    expect(eventOf(text).log).toEqual({ text: '[redacted] was seen\nCookie: [redacted]\n' })
    const cut = '{"UrlEncodedBody":"a=1&password=abcdef123456","TriggerMatch":{"Value":"abcdef123456'
    expect(shown(cut)).not.toContain('abcdef123456')
    expect(eventOf('abcdef123456', defaults, { Cookie: 'abcdef123456' }).log).toEqual({ text: '[redacted]' })
  })

  it.each<[string, Json]>([
    ['a list', { Headers: [{ Name: 'Cookie', Value: ['sid=abcdef123456'] }] }],
    ['an object', { Cookies: { sid: 'abcdef123456' } }],
    ['a parameter of a body', { UrlEncodedBody: 'user=bob&password=abcdef123456' }],
    ['a body of JSON', { UrlEncodedBody: '{"password":"abcdef123456"}' }],
    ['a body that is an object', { UrlEncodedBody: { password: 'abcdef123456' } }],
    ['a body in a request', { Wire: 'POST / HTTP/1.0\n\npassword=abcdef123456' }],
  ])('is hidden where the value is part of %s', (_what, hidden) => {
    const matched = { Url: 'https://h/?x=abcdef123456', TriggerMatch: { Key: 'RX', Value: "'abcdef123456'" } }
    const { match, request } = eventOf({ ...(hidden as JsonObject), ...matched })
    expect([match?.value, request?.url]).toEqual(["'[redacted]'", 'https://h/?x=[redacted]'])
  })

  it.each<[string, JsonObject]>([
    ['another value of a body', { UrlEncodedBody: 'q=<script>x&token=<script>' }],
    ['the name of a value', { Cookie: { '<script>x': '' } }],
  ])('is not %s', (_what, hidden) => {
    const event = eventOf({ ...hidden, TriggerMatch: { Value: '<script>x' } })
    expect(event.match?.value).toBe('<script>x')
  })

  it('is kept if it is too short for a secret', () => {
    for (const value of ['abcde', '%61b%2563de', '密码是什么'])
      expect(eventOf({ Cookie: value, TriggerMatch: { Value: value } }).match?.value).toBe(value)
    const event = eventOf({ Cookie: 'a=1; b=GET', TriggerMatch: { Value: 'GET 1' } })
    expect(event.match?.value).toBe('GET 1')
  })

  it('is hidden as far as it goes where it was cut after more than a hundred signs', () => {
    const token = Array.from({ length: 99 }, (_, at) => `${at}.`).join('')
    const [long, short] = [token.slice(0, 130), token.slice(0, 99)]
    const Value = `é${long}é|${short}|${token}|${encodeURIComponent(long)}%`
    const { match } = eventOf({ 'X-Token': token, TriggerMatch: { Value } })
    expect(match?.value).toBe(`é[redacted]é|${short}|[redacted]|[redacted]%`)
  })

  it.each([
    ['thousands of cookies', (n: number) => `cookie${n}=value-of-${n}; `],
    ['thousands that are alike', (n: number) => `${'a'.repeat(6)}${n} `],
    ['one that is encoded many times', () => '%2525252525'],
    ['one that differs at its end only', (n: number) => (n === 0 ? 'a'.repeat(400_000) : 'b')],
    ['separators only', () => ';=,"\\ '],
  ])('needs bounded time for %s', (_what, piece) => {
    const Value = Array.from({ length: 20_000 }, (_, n) => piece(n)).join('')
    const many = { Headers: [{ Name: 'Cookie', Value }], Url: `https://h/?a=${Value}` }
    expect(shown({ ...many, TriggerMatch: { Value: 'a'.repeat(800_000) } })).toContain('[redacted]')
    expect(eventOf({ ...many, TriggerMatch: { Value } }).match?.value).not.toContain('value-of-1;')
  })
})

it('needs bounded time for the same sign without end, after any other one', () => {
  const one = String.raw`" ' : = @ / \ [ { + - . < , ; # ? & % a 1`
  const signs = [' ', '\n', ...one.split(' '), ...'%22 %2522 %5c %3a token ://'.split(' ')]
  // Where a pattern could read them in two ways, forty would take hours.
  for (const first of signs)
    for (const sign of signs) {
      const text = `${first}${sign.repeat(2_000)}`
      const Headers = [text, { Name: 'Referer', Value: text }, { Name: 'X', Value: text }]
      for (const log of [{ Url: `https://h/?a=${text}`, Headers, Text: text }, text])
        expect(() => shown(log, settings({ addresses: 'mask' }))).not.toThrow()
    }
})

it('bodies are dropped unless configured otherwise', () => {
  expect(eventOf({ Wire: 'POST / HTTP/1.0\n\nhunter2' }).log).toEqual({
    Wire: 'POST / HTTP/1.0\n\n[redacted]',
  })
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
    ['https://h/?mytok=kept&token=&%=1', 'https://h/?mytok=kept&token=&%=1'],
    ['https://h/token=kept;token=kept?x=1', 'https://h/token=kept;token=kept?x=1'],
    ['https://h/#token=hunter2&a=1', 'https://h/#token=[redacted]&a=1'],
    ['https://h/#/a?token=hunter2', 'https://h/#/a?token=[redacted]'],
    [`https://h/?token='hunter2"; <x>&a=1`, 'https://h/?token=[redacted]&a=1'],
    ['https://h/?token=hun;ter2;a=1', 'https://h/?token=[redacted];a=1'],
    ['https://h/?user[password]=hunter2', 'https://h/?user[password]=[redacted]'],
    [
      'https://h/?n=%2Fa%3Fb%3D1%26token%3Dhunter2%26c%3D1',
      'https://h/?n=%2Fa%3Fb%3D1%26token%3D[redacted]%26c%3D1',
    ],
    ['https://h/?token=hunter2%26a%3D1&b=1', 'https://h/?token=[redacted]&b=1'],
    ['https://bob:hunter2@h/a?x=1', 'https://[redacted]@h/a?x=1'],
    ['https://bob:hun@ter2@h/@a', 'https://[redacted]@h/@a'],
    ['https://h/a://b@c?u=ftp://bob:hunter2@i&e=a@b', 'https://h/a://b@c?u=ftp://[redacted]@i&e=a@b'],
    [
      'https://h/?u=ftp%3A%2F%2Fbob%3Ahunter2%40i%2F&e=a%40b',
      'https://h/?u=ftp%3A%2F%2F[redacted]%40i%2F&e=a%40b',
    ],
    ['//a@b/c?session=x', '//a@b/c?session=[redacted]'],
    ['https://h/?%2574oken=hunter2&t%256fk=kept', 'https://h/?%2574oken=[redacted]&t%256fk=kept'],
    [
      'https://h/?n=%2Fa%3Fuser%255Bpass%255D%3Dhunter2%26c%3D1',
      'https://h/?n=%2Fa%3Fuser%255Bpass%255D%3D[redacted]%26c%3D1',
    ],
    ...['http%3A//bob%3Ahunter2%40i/', 'http:%2F%2Fbob:hunter2@i/', 'http://bob%3Ahunter2%40i/'].map(
      (url) => [
        `https://h/?u=${url}&e=a%40b`,
        `https://h/?u=${url.replace(/bob.*ter2/, '[redacted]')}&e=a%40b`,
      ],
    ),
    ['https://h/?u=http://bob:hun%2Fter2@i/', 'https://h/?u=http://[redacted]@i/'],
    [`https://h/?u=http://bob:hun'ter&2@i/&e=a@b`, 'https://h/?u=http://[redacted]@i/&e=a@b'],
    ['https://h/?u=http://i&e=a@b&v=http://i:80&e=a@b', 'https://h/?u=http://i&e=a@b&v=http://i:80&e=a@b'],
    [
      `https://h/?'token'=hunter2&<sid>=hunter2&"a"=1`,
      `https://h/?'token'=[redacted]&<sid>=[redacted]&"a"=1`,
    ],
    ['https://h/?n=a%3Btoken%3Dhunter2%26b', 'https://h/?n=a%3Btoken%3D[redacted]%26b'],
  ] as [string, string][])('%s', (Url, expected) => {
    expect(eventOf({ Url }, query).request?.url).toBe(expected)
    expect(eventOf({ Url: expected }, query).request?.url).toBe(expected)
  })

  it.each([
    ['"token":"hun\\"ter2","a":"b"', '"token":"[redacted]","a":"b"'],
    ['"_token":"hunter2","a.secret":"hunter2"', '"_token":"[redacted]","a.secret":"[redacted]"'],
    ['"otp":123456,"a":1', '"otp":[redacted],"a":1'],
    ['"otp": 123456', '"otp": [redacted]'],
    ['"auth":{"a":["hunter2"]},"b":[1]', '"auth":[redacted],"b":[1]'],
    ['"tokens":["hunter2","hunter3"],"b":[1]', '"tokens":[redacted],"b":[1]'],
  ])('in JSON are hidden: %s', (members, expected) => {
    // Quoted in a URL, encoded in it, and encoded in a URL that is encoded in it.
    for (const encoded of [
      (text: string) => text,
      encodeURIComponent,
      (text: string) => encodeURIComponent(encodeURIComponent(text)),
    ]) {
      const inUrl = (text: string) =>
        `https://h/?q=${encoded(`{${text}}`).replace(/%(?:25)*5Bredacted%(?:25)*5D/g, '[redacted]')}&z=1`
      const url = eventOf({ Url: inUrl(members) }).request!.url!
      expect(url).not.toMatch(/hunter|ter2|123456/)
      expect(url).toMatch(/&z=1$/)
      // Encoded brackets are not counted: what is hidden ends with the parameter.
      if (!/[{[]/.test(members) || encoded('{') === '{') expect(url).toBe(inUrl(expected))
      expect(eventOf({ Url: url }).request?.url).toBe(url)
      expect(shown({ More: inUrl(members) })).not.toMatch(/hunter|ter2|123456/)
    }
  })

  it.each(['2fa-token', 'a/token', 'ключ_token'])('in JSON are hidden by any name: %s', (name) => {
    const text = JSON.stringify({ a: JSON.stringify({ [name]: 'hunter2' }), [name]: 'hunter2', b: 1 })
    for (const encoded of [text, encodeURIComponent(text), encodeURIComponent(encodeURIComponent(text))]) {
      const url = eventOf({ Url: `https://h/?q=${encoded}&z=1` }).request!.url!
      expect(url).not.toContain('hunter2')
      expect(url).toMatch(/&z=1$/)
    }
  })

  it.each(['TOKEN', 'Client_Secret', 'code'])('mask the value of %s in every text', (name) => {
    const received = {
      Url: `https://h/?a=1&${name}=hunter2&b=2`,
      Headers: [{ Name: 'Referer', Value: `https://h/?${name}=hunter2` }],
      Text: `see <https://h/?${name}=hunter2>`,
      TriggerMatch: { Value: `${name}=hunter2` },
    }
    expect(eventOf(received).request?.url).toBe(`https://h/?a=1&${name}=[redacted]&b=2`)
    for (const form of [received, JSON.stringify(received), `GET /?${name}=hunter2 HTTP/1.1`])
      expect(shown(form)).not.toContain('hunter2')
  })
})

it.each<[string, Record<string, Json>]>([
  ['a user agent', { Headers: [{ Name: 'User-Agent', Value: 'token=curl/8; Cookie: a\nCookie: b' }] }],
  ['a message', { Message: 'Session: token=found in "password": "x", Cookie: a' }],
  ['a path', { Url: 'https://h/a;token=hunter2/Cookie: b\nCookie: c' }],
])('%s says what it says, whatever it looks like', (_what, received) => {
  expect(eventOf(received).log).toBe(received)
  const labels = { method: 'TOKEN=x', status: '?token=x', country: '"cookie":"x"' }
  expect(eventOf(received, settings({ headers: ['*'], query: ['*'] }), { labels }).labels).toBe(labels)
})

it.each([`https://bob:hun'ter2&hunter2@h/`, 'https://hunter2@h', String.raw`https:\/\/bob:hunter2@h\/a@b`])(
  'the user in %s is hidden in every text',
  (url) => {
    for (const received of [
      { Text: `see <${url}>` },
      { Headers: [{ Name: 'X-Url', Value: url }] },
      `at ${url}`,
    ])
      expect(shown(received)).not.toMatch(/hunter2|ter2/)
  },
)

describe('plain text', () => {
  it.each([
    String.raw`{"Url":"https://h/?a=1\u0026token=hunter2\u0026b=\u0027","x`,
    String.raw`{"Details":"{\u0022password\u0022:\u0022hunter2\u0022}","x`,
    '{"2fa-token":"hunter2","x',
    '2fa-token: hunter2',
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
    // A colon may follow, as in a log.
    expect(replaceAddresses('2001:db8::1: no, ::1: no, 1::: no, 1.2.3.4: no, 2001:db8::1:', () => '#')).toBe(
      '#: no, #: no, 1::: no, #: no, #:',
    )
    for (const other of [
      'std::string a::b:c:: 12:30: 00:1b:44:11:3a:b7: ::x 12:34:56:78 1.2.3 1.2.3.4.5',
      'Mozilla/5.0 (X11) Chrome/120.0.0.0 Safari/537.36',
      '"Not A Brand";v="99.0.0.0", version 1.2.3.4, ver=1.2.3.4, v1.2.3.4',
    ])
      expect(replaceAddresses(other, () => '#')).toBe(other)
    const mapped = '::ffff:1.2.3.4:443, 2001:db8:1:2:3:4:5::, ::2:3:4:5:6:7:8, x\\n1.2.3.4\\t::1'
    expect(replaceAddresses(mapped, () => '#')).toBe('#:443, #, #, x\\n#\\t#')
    for (const before of ['unknown/', 'v=', 'version '])
      expect(replaceAddresses(`${before}2001:db8::1`, () => '#')).toBe(`${before}#`)
    for (const port of [':443', ':44300', '%3A443'])
      expect(replaceAddresses(`2001:db8:1:2:3:4:5:6${port}, 2001:db8::${port}`, () => '#')).toBe(
        `#${port}, #${port}`,
      )
    const twice = 'u=%2Fa%3Fi%3D%255B2001%253Adb8%253A%253A1%255D%26j%253D1.2.3.4'
    expect(replaceAddresses(twice, () => '#')).toBe('u=%2Fa%3Fi%3D%255B#%255D%26j%253D#')
    const encoded = 'https://203.0.113.9/a/203.0.113.9?i=%5B2001%3Adb8%3A%3A1%5D&j=%201.2.3.4%2F5'
    expect(replaceAddresses(encoded, () => '#')).toBe('https://#/a/#?i=%5B#%5D&j=%20#%2F5')
  })

  const received: JsonObject = {
    RemoteIp: '203.0.113.9',
    Message: 'client 203.0.113.9 seen',
    Url: 'https://h/?ip=203.0.113.9',
    Headers: [{ Name: 'X-Forwarded-For', Value: '203.0.113.9, 2001:db8:1:2:3::4' }],
  }

  it.each(['mask', 'drop', 'hash'] as const)(
    'are in no header and in no text with %s, and nothing else changes',
    (addresses) => {
      const by = settings({ addresses, addressKey: new Secret('k'.repeat(16)) })
      const names =
        'X-Cluster-Client-Ip X-Azure-ClientIP Forwarded-For X-Forwarded X-Remote-IP X-ProxyUser-Ip X-Original-IP Via Own'
      const Headers = names.split(' ').map((Name, index) => ({ Name, Value: `1.1 203.0.113.2${index}, "b"` }))
      const texts = {
        Message: 'client 203.0.113.9 seen, not 11.2.3.45 nor 203.0.113.99, by std::string 1.2.3.4.5',
        Url: 'https://203.0.113.9/203.0.113.9?ip=203.0.113.9&u=http://169.254.169.254/',
        TriggerMatch: { Key: 'IP', Value: '203.0.113.21 203.0.113.9' },
        Other: ['203.0.113.9', 'v="99.0.0.0"'],
      }
      const { log } = eventOf({ RemoteIp: '203.0.113.9', Headers, ...texts }, by)
      const own = log['RemoteIp'] as string
      expect(own).not.toBe('203.0.113.9')
      expect(JSON.stringify(log['Headers'])).not.toMatch(/203\.0\.113\.\d/)
      expect(JSON.stringify(log['Headers'])).toContain('1.1 ')
      expect(log['Message']).toBe(texts.Message.replace('203.0.113.9 ', `${own} `))
      expect(log['Url']).toBe(texts.Url.replace('ip=203.0.113.9', `ip=${own}`))
      expect(JSON.stringify(log['TriggerMatch'])).not.toMatch(/203\.0\.113\.\d/)
      expect(log['Other']).toEqual([own, 'v="99.0.0.0"'])
    },
  )

  it('are found in the headers of a request that is a text', () => {
    const Wire = 'GET / HTTP/1.1\r\nX-Forwarded-For: 203.0.113.9\r\nHost: h\r\n'
    const clean = {
      Wire: Wire.replace('203.0.113.9', '203.0.113.*'),
      Text: 'to 203.0.113.*',
      More: '203.0.113.8',
    }
    const { log } = eventOf(
      { Wire, Text: 'to 203.0.113.9', More: '203.0.113.8' },
      settings({ addresses: 'mask' }),
    )
    expect(log).toEqual(clean)
  })

  it.each([
    'X-Forwarded-For',
    'forwarded',
    'CF-Connecting-IP',
    'client_ip',
    'remoteAddress',
    'True-Client-Ip',
  ])('are found in %s wherever it stands', (name) => {
    const held = { [name]: 'for=203.0.113.8, 2001:db8::1', [`${name}s`]: '203.0.113.8', Zip: '203.0.113.7' }
    const { log } = eventOf(held, settings({ addresses: 'drop' }))
    expect(log).toMatchObject({ [name]: 'for=[redacted], [redacted]', Zip: '203.0.113.7' })
  })

  it('in JSON that is a text are replaced, and nothing else is, whatever its name', () => {
    const received = { RemoteIp: "' or 1=1", client_ip: 'x 203.0.113.8', More: '203.0.113.7' }
    const clean = { ...received, client_ip: 'x 203.0.113.*' }
    const { log } = eventOf({ Details: JSON.stringify(received) }, settings({ addresses: 'mask' }))
    expect(log).toEqual({ Details: JSON.stringify(clean) })
  })

  it('are found in a field that holds more than one', () => {
    const RemoteIp = [{ ip: '203.0.113.9', port: 80 }, '203.0.113.8']
    expect(eventOf({ RemoteIp }, settings({ addresses: 'mask' })).log['RemoteIp']).toEqual([
      { ip: '203.0.113.*', port: 80 },
      '203.0.113.*',
    ])
  })

  it.each(['mask', 'drop', 'hash'] as const)(
    'beside something else stay as they are with %s',
    (addresses) => {
      const by = settings({ addresses, addressKey: new Secret('k'.repeat(16)) })
      for (const RemoteIp of ['203.0.113.9:443', '203.0.113.9, 10.0.0.1', 'fe80::1%eth0']) {
        const once = eventOf({ RemoteIp }, by).client?.address
        expect(once).not.toBe('[redacted]')
        expect(eventOf({ RemoteIp: once! }, by).client?.address).toBe(once)
      }
    },
  )

  it('are masked in texts also where the API has masked the field', () => {
    const event = eventOf(
      { RemoteIp: '203.0.113.*', Message: '203.0.113.9 203.0.114.9' },
      settings({ addresses: 'drop' }),
    )
    expect(event.rule?.message).toBe('[redacted] 203.0.114.9')
  })

  it('can be masked', () => {
    const mask = settings({ addresses: 'mask' })
    const event = eventOf(received, mask)
    expect(event.client).toMatchObject({ address: '203.0.113.*' })
    expect(event.client?.ip).toBeUndefined()
    expect(event.rule?.message).toBe('client 203.0.113.* seen')
    expect(shown(received, mask)).not.toMatch(/203\.0\.113\.9|:3::4/)
    for (const masked of ['1.2.3.*', '2001:db8::*', '2001:db8:1:2::*'])
      expect(eventOf({ RemoteIp: masked }, mask).client?.address).toBe(masked)
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
    expect(addressOf('::ffff:cb00:7109')).toBe(`h:${hashed}`)
    expect(addressOf('0:0:0:0:0:FFFF:203.0.113.9')).toBe(`h:${hashed}`)
    expect(addressOf('2001:DB8:0:0::1')).toBe(addressOf('2001:db8::1'))
    for (const masked of ['203.0.113.*', '2001:db8::*', '2001:db8:1:2::*', '2001:db8:1:*']) {
      const once = addressOf(masked)!
      expect(once, masked).toMatch(/^h:[\da-f]{16}$/)
      expect(addressOf(once)).toBe(once)
    }
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

it('any secret in any place under a name is never shipped', () => {
  const secret = 'Zq7-hunter2-Zq7'
  const keys = fc.constantFrom('TriggerMatch', 'Name', 'Key', 'value', '__proto__', 'a')
  const hidden = fc.constantFrom<Json>(
    { Cookie: secret },
    { Name: 'X-Session-Token', Value: [secret] },
    ['Authorization', secret],
    `GET /?token=${secret} HTTP/1.1\r\nCookie: ${secret}`,
    `{"password":"${secret}"`,
    `https://bob:${secret}@h/?u=%3Fsid%3D${secret}`,
  )
  const { node } = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      hidden,
      fc.constantFrom<Json>('plain', 7, null),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(keys, tie('node'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(node, (Any) => {
      const TriggerMatch = { Value: `x ${secret} y` }
      const Url = `https://h/?x=${secret}`
      const text = shown(
        JSON.stringify({ Headers: [{ Name: 'Cookie', Value: `sid=${secret}` }], Url, TriggerMatch, Any }),
      )
      expect(text).not.toContain(secret)
    }),
  )
})

it('no secret under a name is shipped in a URL, however often and in whatever manner it is encoded', () => {
  const secret = 'Zq7-hunter2-Zq7'
  const encoder = fc.constantFrom<(text: string) => string>(
    encodeURIComponent,
    (text) => encodeURIComponent(text).replaceAll('%2F', '/'),
    (text) => encodeURIComponent(text).replace(/%../g, (found) => found.toLowerCase()),
  )
  const name = fc.constantFrom('token', '_token', 'user.pass', 'apiKey', 'sid', 'client_secret')
  const held = fc.constantFrom<Json>(secret, [secret, 'x'], { a: secret, b: ['}', '"'] }, [[secret]])
  const named = fc.oneof(
    fc
      .tuple(fc.constantFrom('user[pass]', 'code', 'sid'), encoder)
      .map(([key, encode]) => `${encode(key)}=${secret}`),
    fc
      .tuple(name, held, encoder)
      .map(([key, value, encode]) => `q=${encode(JSON.stringify({ '"': '\\', [key]: value, z: 1 }))}`),
    encoder.map((encode) => `u=${encode(`https://bob:${secret}@h/`)}`),
  )
  const urls = fc.tuple(named, fc.array(encoder, { maxLength: 3 })).map(([first, encoders]) => {
    const wrapped = (url: string, encode: (text: string) => string) =>
      `https://h/p?a=${encode('b c')}&u=${encode(url)}&z=1`
    return encoders.reduce(wrapped, `https://h/?x=1&${first}`)
  })
  const decoded = (text: string): string => {
    const once = text.replace(/(?:%[\da-f]{2})+/gi, (found) => decodeURIComponent(found))
    return once === text ? text : decoded(once)
  }
  fc.assert(
    fc.property(urls, (Url) => {
      const Headers = ['Referer', 'X-Original-Url'].map((Name) => ({ Name, Value: Url }))
      for (const form of [{ Url, Headers, TriggerMatch: { Value: Url } }, `GET ${Url} HTTP/1.1`])
        expect(decoded(shown(form)), Url).not.toContain(secret)
    }),
    { numRuns: 1000 },
  )
})
