import { describe, expect, it } from 'vitest'
import { bodySize, joinPieces, pieceOf } from '../../../../src/sinks/http/bodies.ts'
import { arrayLayout, lineLayout } from '../../../../src/sinks/http/protocol/preset.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, presetWith, readWith } from './dialects.ts'

const said = (status: number, body: string): Reply => ({ status, body })

presetContract('loki', {
  settings: (url, bearerToken) => ({ url, bearerToken, tenant: 't1' }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  taken: () => ({ status: 204 }),
  refused: (ids, bad) => ({
    reply: said(
      400,
      `max entry size '262144' bytes exceeded for stream '{job="x"}' while adding an entry with length '262200' bytes`,
    ),
    stored: ids.filter((id) => !bad.includes(id)),
  }),
  unauthorised: said(401, 'no credentials provided'),
})

const events = [0, 1, 2].map((second) => {
  const timeMs = 1_763_633_472_000 + second * 1000
  return buildEvent({ id: `e-${second}`, timeMs, time: new Date(timeMs).toISOString() })
})
const read = readWith({ preset: 'loki', url: 'http://loki:3100' }, events)
const behind = (count: number) =>
  `entry with timestamp 2025-11-20 10:11:13 +0000 UTC ignored, reason: 'entry too far behind, entry timestamp is: 2025-11-20T10:11:13Z, oldest acceptable timestamp is: 2025-11-21T23:03:55Z',\nuser 'fake', total ignored: ${count} out of 3 for stream: {job="far"}`
const rate = (bytes: number) =>
  `ingestion rate limit exceeded for user t1 (limit: 20971 bytes/sec) while attempting to ingest '40' lines totaling '${bytes}' bytes, reduce log volume`

describe('an answer of Loki', () => {
  it('that is long and repeats itself is read like any other', () => {
    expect(read(said(429, 'limit: 1 bytes/sec)'.repeat(200_000)))).toMatchObject({ kind: 'retry' })
  })

  it('names the entries that are too far behind: the others are stored', () => {
    const verdict = read(said(400, behind(1)))
    expect(verdict).toMatchObject({
      kind: 'each',
      outcomes: new Map<string, unknown>([
        ['e-0', 'delivered'],
        ['e-1', { refused: 'too_old', answer: behind(1) }],
        ['e-2', 'delivered'],
      ]),
    })
    expect(read(said(400, behind(2)))).toMatchObject({ kind: 'split', reason: 'too_old' })
  })

  it.each<[string, Reply, object]>([
    [
      'an entry that is too old',
      said(
        400,
        "entry for stream '{…}' has timestamp too old: 2026-11-14T00:04:04Z, oldest acceptable timestamp is: 2026-11-15T00:04:05Z",
      ),
      { kind: 'split', reason: 'too_old' },
    ],
    [
      'a label that it cannot read',
      said(400, "couldn't parse labels: 1:3: parse error"),
      { kind: 'split', reason: 'refused' },
    ],
    [
      'a body over the limit of its ingesters',
      said(
        500,
        'rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5001244 vs. 4194304)',
      ),
      { kind: 'split', reason: 'too_large' },
    ],
    ['metadata without a name', said(500, 'label name is empty'), { kind: 'split', reason: 'refused' }],
    ['a rate that is exceeded', said(429, rate(10_000)), { kind: 'retry', code: 'throttled' }],
    ['a body over the rate itself', said(429, rate(36_151)), { kind: 'split', reason: 'too_large' }],
    ['a tenant whose ingestion is blocked', said(260, 'blocked'), { kind: 'stop' }],
    [
      'no structured metadata, as with a schema before v13',
      said(
        400,
        'stream \'{job="x"}\' includes structured metadata, but this feature is disallowed. Please see `limits_config.allow_structured_metadata`',
      ),
      { kind: 'stop', remedy: expect.stringContaining('structuredMetadata: false') as unknown },
    ],
  ])('is read: %s', (_name, reply, verdict) => {
    expect(read(reply)).toMatchObject(verdict)
  })
})

describe('a body for Loki', () => {
  const preset = presetWith({ preset: 'loki', url: 'http://loki:3100', labels: { job: 'waf' } })
  const mixed = [
    ...events,
    buildEvent({
      id: 'other',
      zone: { id: 7, name: '' },
      time: '2025-11-20T09:00:00.5Z',
      timeMs: 1_763_629_200_500,
    }),
    ...buildEvents(1, 'last'),
  ]
  const pieces = mixed.map((event) =>
    pieceOf(event, preset.piece(event, `{"id":"${event.id}"}`), preset.layout),
  )

  it('has a stream per zone, action, severity and hour, with nanoseconds and metadata', () => {
    const body = JSON.parse(joinPieces(pieces, preset.layout).toString()) as unknown
    const labels = { job: 'waf', action: 'Blocked', severity: 'critical' }
    expect(body).toMatchObject({
      streams: [
        { stream: { ...labels, shield_zone: '101', hour: '2025-11-20T10' }, values: [{}, {}, {}, {}] },
        {
          stream: { ...labels, shield_zone: '7', hour: '2025-11-20T09' },
          values: [
            ['1763629200500000000', '{"id":"other"}', { log_id: 'other', rule_id: '930130', asn: '48090' }],
          ],
        },
      ],
    })
  })

  it('has no metadata where structuredMetadata is false', () => {
    const without = presetWith({ preset: 'loki', url: 'http://loki:3100', structuredMetadata: false })
    expect(JSON.parse(without.piece(events[0]!, '{}'))).toEqual(['1763633472000000000', '{}'])
    expect(JSON.parse(preset.piece(events[0]!, '{}'))).toHaveLength(3)
  })

  it('has the size that was counted', () => {
    for (const layout of [preset.layout, arrayLayout, lineLayout]) {
      const own = mixed.map((event) => pieceOf(event, `{"id":"${event.id}"}`, layout))
      const size = bodySize(layout)
      for (const [index, piece] of own.entries())
        expect(size(piece)).toBe(joinPieces(own.slice(0, index + 1), layout).length)
    }
  })
})
