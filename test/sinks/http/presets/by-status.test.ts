import { expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import { buildEvent } from '../../../formats/events.ts'
import { headerOf, idsIn, wholeBody, presetWith, readWith } from './dialects.ts'

// Presets that read nothing but the status. The suite tests each answer of the table in the documentation.

for (const preset of ['json', 'ndjson'] as const)
  presetContract(preset, {
    settings: (url, secret) => ({ url, headers: { Authorization: secret } }),
    idsOf: idsIn,
    secretOf: headerOf('authorization'),
    ...wholeBody({ status: 200 }, { status: 401 }),
  })

// Statuses: Better Stack, "Ingesting logs via HTTP".
presetContract('betterstack', {
  settings: (url, token) => ({ url, token }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  ...wholeBody({ status: 202 }, { status: 403, body: 'Unauthorized' }),
})

// Statuses: Datadog, API reference, Logs, "Send logs".
presetContract('datadog', {
  settings: (url, apiKey) => ({ url, apiKey }),
  idsOf: idsIn,
  secretOf: headerOf('dd-api-key'),
  ...wholeBody({ status: 202, body: {} }, { status: 403, body: { errors: ['Forbidden'] } }),
})

// Statuses: New Relic, "Introduction to the Log API", HTTP responses.
presetContract('newrelic', {
  settings: (url, licenseKey) => ({ url, licenseKey }),
  idsOf: idsIn,
  secretOf: headerOf('api-key'),
  ...wholeBody({ status: 202, body: { requestId: 'x' } }, { status: 403 }),
})

// Statuses: Sumo Logic, "HTTP Logs and Metrics Source", and "Troubleshooting HTTP Sources".
presetContract('sumologic', {
  settings: (url) => ({ url: `${url}/receiver/v1/http/ZaVnC4dhaV3`, category: 'waf' }),
  idsOf: idsIn,
  // The address is the secret.
  secretOf: () => undefined,
  ...wholeBody({ status: 200 }, { status: 401 }),
})

const secret = new Secret('k')
const datadog = { preset: 'datadog', site: 'datadoghq.eu', apiKey: secret, tags: ['env:prod', 'team:waf'] }
const newrelic = { preset: 'newrelic', region: 'eu', licenseKey: secret }
const betterstack = { preset: 'betterstack', url: 'https://s1.betterstackdata.com', token: secret }
const sumologic = {
  preset: 'sumologic',
  url: 'https://endpoint1.collection.sumologic.com/receiver/v1/http/x',
}

it('an intake of its own may acknowledge with 200, that of Datadog only with 202', () => {
  expect(readWith(datadog, [])({ status: 200 })).toMatchObject({ kind: 'retry', code: 'bad_body' })
  expect(readWith({ ...datadog, url: 'http://worker' }, [])({ status: 200 }).kind).toBe('delivered')
})

const event = buildEvent({ id: 'x' })
it.each<[given: { preset: string }, line: string, piece: unknown]>([
  [betterstack, '{"v":1}', { dt: event.time, v: 1 }],
  // New Relic parses the message.
  [newrelic, '{"v":1}', { timestamp: event.timeMs, message: '{"v":1}', attributes: { log_id: 'x' } }],
  [
    datadog,
    '{"status":"y"}',
    {
      ddsource: 'bunny-shield',
      ddtags: 'env:prod,team:waf',
      service: 'bunny-shield',
      hostname: 'shop',
      timestamp: event.time,
      message: 'Blocked 930130 Restricted File Access Attempt',
      bunny: { status: 'y' },
    },
  ],
])('$preset gets what it reads of an event', (given, line, piece) => {
  expect(JSON.parse(presetWith(given).piece(event, line))).toEqual(piece)
})

it('addresses and headers are made of the settings', () => {
  expect(presetWith(datadog).url).toBe('https://http-intake.logs.datadoghq.eu/api/v2/logs')
  expect(presetWith(newrelic).url).toBe('https://log-api.eu.newrelic.com/log/v1')
  expect(presetWith({ ...sumologic, category: 'prod/waf', host: 'edge' }).headers).toEqual({
    'x-sumo-category': 'prod/waf',
    'x-sumo-host': 'edge',
  })
})

// API reference, Authentication, "Validate API key": 200 {"valid":true}, 403 {"errors":["Forbidden"]}.
it.each([
  [200, { found: 'accepted the API key' }],
  [403, { verdict: { kind: 'stop', credentials: true }, answer: { status: 403 } }],
  [503, { verdict: { kind: 'retry', code: 'server_error' } }],
])('a check asks the site of Datadog whether the key is valid: %i', async (status, expected) => {
  const asked: unknown[] = []
  const checked = await presetWith(datadog).check((request) => {
    asked.push(request)
    return Promise.resolve({ status, headers: {}, body: Buffer.from('{}'), whole: true })
  })
  expect(asked).toEqual([{ method: 'GET', url: 'https://api.datadoghq.eu/api/v1/validate' }])
  expect(checked).toMatchObject(expected)
})

/** Presets for endpoints of one's own, which share their settings. */
const plain = ['json', 'ndjson'] as const

it.each(plain)(
  '%s accepts only the configured statuses as an acknowledgement, if any are configured',
  (preset) => {
    const url = 'https://siem.example'
    const read = readWith({ preset, url, successCodes: [202, 409] }, [event])
    const kinds = [200, 202, 204, 409, 429].map((status) => read({ status }).kind)
    expect(kinds).toEqual(['retry', 'delivered', 'retry', 'delivered', 'retry'])
    expect(readWith({ preset, url }, [event])({ status: 204 })).toEqual({ kind: 'delivered' })
  },
)

it.each(plain)(
  '%s waits for a request with the same Idempotency-Key, and says how 409 can acknowledge',
  (preset) => {
    const read = readWith({ preset, url: 'https://siem.example' }, [event])
    expect(read({ status: 409 })).toMatchObject({
      kind: 'retry',
      said: expect.stringContaining('add 409 to successCodes') as unknown,
    })
  },
)

it.each(plain)('%s needs a key for a signature', (preset) => {
  const settings = { preset, url: 'https://siem.example' }
  expect(() => readWith({ ...settings, signature: {} }, [])).toThrow('is missing')
  expect(() => readWith({ ...settings, signature: { secret: secret } }, [])).not.toThrow()
})

it.each(plain)('%s refuses a signature in a header that is set by others', (preset) => {
  const read = (header: string) =>
    readWith(
      {
        preset,
        url: 'https://siem.example',
        headers: { 'X-Own': new Secret('v') },
        signature: { header, secret: secret },
      },
      [],
    )
  for (const header of ['content-length', 'Idempotency-Key', 'Via', 'Forwarded', 'Proxy-Authenticate'])
    expect(() => read(header), header).toThrow('is a header that the sink sets or that proxies read')
  for (const header of ['x-own', 'User-Agent']) expect(() => read(header)).toThrow('is given twice')
  expect(() => read('X-Hub-Signature')).not.toThrow()
})
