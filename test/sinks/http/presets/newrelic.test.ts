import { expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, wholeBody } from './dialects.ts'
import { presetWith, readWith } from './reading.ts'

// Statuses: New Relic, "Introduction to the Log API", HTTP responses.
presetContract('newrelic', {
  settings: (url, licenseKey) => ({ url, licenseKey }),
  idsOf: idsIn,
  secretOf: headerOf('api-key'),
  ...wholeBody({ status: 202, body: { requestId: 'x' } }, { status: 403 }),
  readsStatusOnly: true,
})

const given = { preset: 'newrelic', region: 'eu', licenseKey: new Secret('k') }

it.each<[string, Reply, object]>([
  ['accepted', { status: 202 }, { kind: 'delivered' }],
  ['too large a body', { status: 413 }, { kind: 'split', reason: 'too_large' }],
  ['too many requests', { status: 429 }, { kind: 'retry', code: 'throttled' }],
  ['a key that is refused', { status: 403 }, { kind: 'stop', credentials: true }],
])('an answer of New Relic is read: %s', (_name, reply, verdict) => {
  expect(readWith(given, buildEvents(1))(reply)).toMatchObject(verdict)
})

it('sends the line to New Relic as the message, which it parses', () => {
  const preset = presetWith(given)
  expect(preset.url).toBe('https://log-api.eu.newrelic.com/log/v1')
  expect(JSON.parse(preset.piece(buildEvent({ id: 'x' }), '{"id":"x"}'))).toEqual({
    timestamp: 1_763_633_472_123,
    message: '{"id":"x"}',
    attributes: { log_id: 'x' },
  })
})
