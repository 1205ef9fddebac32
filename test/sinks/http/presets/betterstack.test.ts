import { expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, wholeBody } from './dialects.ts'
import { presetWith, readWith } from './reading.ts'

// Statuses: Better Stack, "Ingesting logs via HTTP".
presetContract('betterstack', {
  settings: (url, token) => ({ url, token }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  ...wholeBody({ status: 202 }, { status: 403, body: 'Unauthorized' }),
  readsStatusOnly: true,
})

const given = { preset: 'betterstack', url: 'https://s1.betterstackdata.com', token: new Secret('t') }

it.each<[string, Reply, object]>([
  ['accepted', { status: 202 }, { kind: 'delivered' }],
  ['the quota', { status: 402 }, { kind: 'stop', credentials: false }],
  ['a token that is refused', { status: 403 }, { kind: 'stop', credentials: true }],
  ['a body that is no JSON', { status: 406 }, { kind: 'stop' }],
  ['too large a body', { status: 413 }, { kind: 'split', reason: 'too_large' }],
])('an answer of Better Stack is read: %s', (_name, reply, verdict) => {
  expect(readWith(given, buildEvents(1))(reply)).toMatchObject(verdict)
})

it('sends the time to Better Stack as dt', () => {
  const event = buildEvent()
  expect(JSON.parse(presetWith(given).piece(event, '{"v":1}'))).toEqual({ dt: event.time, v: 1 })
})
