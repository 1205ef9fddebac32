import { expect, it } from 'vitest'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvents } from '../../../formats/events.ts'
import { idsIn, wholeBody } from './dialects.ts'
import { presetWith, readWith } from './reading.ts'

// Statuses: Sumo Logic, "HTTP Logs and Metrics Source", and "Troubleshooting HTTP Sources".
presetContract('sumologic', {
  settings: (url) => ({ url: `${url}/receiver/v1/http/ZaVnC4dhaV3`, category: 'waf' }),
  idsOf: idsIn,
  // The address is the secret.
  secretOf: () => undefined,
  ...wholeBody({ status: 200 }, { status: 401 }),
  readsStatusOnly: true,
})

const given = { preset: 'sumologic', url: 'https://endpoint1.collection.sumologic.com/receiver/v1/http/x' }

it.each<[string, Reply, object]>([
  ['taken', { status: 200 }, { kind: 'delivered' }],
  ['an address that is not known', { status: 401 }, { kind: 'stop' }],
  ['the quota', { status: 429 }, { kind: 'retry', code: 'throttled' }],
  ['a gateway that is late', { status: 504 }, { kind: 'retry' }],
])('an answer of Sumo Logic is read: %s', (_name, reply, verdict) => {
  expect(readWith(given, buildEvents(1))(reply)).toMatchObject(verdict)
})

it('names category, source and host of Sumo Logic in headers', () => {
  expect(presetWith({ ...given, category: 'prod/waf', host: 'edge' }).headers).toEqual({
    'x-sumo-category': 'prod/waf',
    'x-sumo-host': 'edge',
  })
})
