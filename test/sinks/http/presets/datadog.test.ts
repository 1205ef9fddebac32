import { describe, expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, wholeBody } from './dialects.ts'
import { presetWith, readWith } from './reading.ts'

// Statuses: Datadog, API reference, Logs, "Send logs".
presetContract('datadog', {
  settings: (url, apiKey) => ({ url, apiKey }),
  idsOf: idsIn,
  secretOf: headerOf('dd-api-key'),
  ...wholeBody({ status: 202, body: {} }, { status: 403, body: { errors: ['Forbidden'] } }),
  readsStatusOnly: true,
})

const given = {
  preset: 'datadog',
  site: 'datadoghq.eu',
  apiKey: new Secret('k'),
  tags: ['env:prod', 'team:waf'],
}

it.each<[string, Reply, object]>([
  ['accepted', { status: 202, body: {} }, { kind: 'delivered' }],
  ['another success', { status: 200 }, { kind: 'retry', code: 'bad_body' }],
  ['a bad body', { status: 400 }, { kind: 'split', reason: 'refused' }],
  ['a key that is refused', { status: 403 }, { kind: 'stop', credentials: true }],
  ['a timeout', { status: 408 }, { kind: 'retry', code: 'timeout' }],
  ['too large a body', { status: 413 }, { kind: 'split', reason: 'too_large' }],
  ['too many requests', { status: 429 }, { kind: 'retry', code: 'throttled' }],
])('an answer of Datadog is read: %s', (_name, reply, verdict) => {
  expect(readWith(given, buildEvents(1))(reply)).toMatchObject(verdict)
})

describe('a log for Datadog', () => {
  it('is sent to the intake of the site, with the event below `bunny`', () => {
    const preset = presetWith(given)
    expect(preset.url).toBe('https://http-intake.logs.datadoghq.eu/api/v2/logs')
    const event = buildEvent({ id: 'x' })
    expect(JSON.parse(preset.piece(event, '{"status":"y"}'))).toEqual({
      ddsource: 'bunny-shield',
      ddtags: 'env:prod,team:waf',
      service: 'bunny-shield',
      hostname: 'shop',
      timestamp: event.time,
      message: 'Blocked 930130 Restricted File Access Attempt',
      bunny: { status: 'y' },
    })
  })
})

describe('a check of Datadog', () => {
  // API reference, Authentication, "Validate API key": 200 {"valid":true}, 403 {"errors":["Forbidden"]}.
  const checkAt = async (status: number, body: object) => {
    const asked: unknown[] = []
    const checked = await presetWith(given).check((request) => {
      asked.push(request)
      return Promise.resolve({ status, headers: {}, body: Buffer.from(JSON.stringify(body)), whole: true })
    })
    return { asked, checked }
  }

  it('asks the site whether the key is valid, and sends nothing to the intake', async () => {
    const { asked, checked } = await checkAt(200, { valid: true })
    expect(asked).toEqual([{ method: 'GET', url: 'https://api.datadoghq.eu/api/v1/validate' }])
    expect(checked).toEqual({ found: 'accepted the API key' })
  })

  it.each([
    [403, { kind: 'stop', credentials: true }],
    [429, { kind: 'retry', code: 'throttled' }],
    [503, { kind: 'retry', code: 'server_error' }],
  ])('reports the error if the site answers %i', async (status, verdict) => {
    const { checked } = await checkAt(status, { errors: ['Forbidden'] })
    expect(checked).toMatchObject({ verdict, answer: { status } })
  })
})
