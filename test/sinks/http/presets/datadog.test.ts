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
  ['a bad body', { status: 400 }, { kind: 'split', reason: 'refused' }],
  ['a key that is refused', { status: 403 }, { kind: 'stop', credentials: true }],
  ['a timeout', { status: 408 }, { kind: 'retry', code: 'timeout' }],
  ['too large a body', { status: 413 }, { kind: 'split', reason: 'too_large' }],
  ['too many requests', { status: 429 }, { kind: 'retry', code: 'throttled' }],
])('an answer of Datadog is read: %s', (_name, reply, verdict) => {
  expect(readWith(given, buildEvents(1))(reply)).toMatchObject(verdict)
})

describe('a log for Datadog', () => {
  it('goes to the intake of the site, with the event below a name of its own', () => {
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
