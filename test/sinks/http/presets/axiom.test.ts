import { expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, presetWith, readWith } from './dialects.ts'

// Answers: Axiom, REST API, "Ingest data to edge deployment".
const counted = (ingested: number, failed: number): Reply => ({
  status: 200,
  body: {
    ingested,
    failed,
    failures: failed === 0 ? [] : [{ timestamp: '2023-11-07T05:31:56Z', error: 'too many fields' }],
    processedBytes: 1,
  },
})

presetContract('axiom', {
  settings: (url, token) => ({ url, token, dataset: 'waf' }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  taken: (ids) => counted(ids.length, 0),
  refused: () => ({ reply: { status: 400, body: { code: 400, message: 'invalid body' } }, stored: [] }),
  fewer: (ids) => ({ reply: counted(ids.length - 2, 2), stored: ids.slice(2), lost: 2 }),
  unauthorised: { status: 403, body: { message: 'Forbidden' } },
})

const given = { preset: 'axiom', dataset: 'waf', token: new Secret('t') }
const read = readWith(given, buildEvents(3))

it.each<[string, Reply, object]>([
  ['all taken', counted(3, 0), { kind: 'delivered' }],
  ['some not taken', counted(1, 2), { kind: 'delivered', lost: { count: 2, answer: 'too many fields' } }],
  ['none taken: then it is known which', counted(0, 3), { kind: 'each' }],
  ['no counts', { status: 200, body: {} }, { kind: 'retry', code: 'bad_body' }],
  [
    'a limit that ends',
    { status: 429, headers: { 'x-ratelimit-reset': '1763633500' } },
    { kind: 'retry', retryAtMs: 1_763_633_500_000 },
  ],
])('an answer of Axiom is read: %s', (_name, reply, verdict) => {
  expect(read(reply)).toMatchObject(verdict)
})

it('an answer of Axiom with a negative count reports no lost events', () => {
  expect(read(counted(3, -2))).toEqual({ kind: 'delivered' })
})

it('is sent to the dataset of Axiom, with the time as _time', () => {
  const preset = presetWith(given)
  expect(preset.url).toBe('https://us-east-1.aws.edge.axiom.co/v1/ingest/waf')
  const event = buildEvent()
  expect(JSON.parse(preset.piece(event, '{"v":1}'))).toEqual({ _time: event.time, v: 1 })
})
