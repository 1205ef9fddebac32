import { describe, expect, it } from 'vitest'
import { joinPieces, pieceOf } from '../../../../src/sinks/http/bodies.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, presetWith, readWith } from './dialects.ts'

const status = (code: number, message: string) => ({ code, message })
const rejected = (count: number | string): Reply => ({
  status: 200,
  body: { partialSuccess: { rejectedLogRecords: count, errorMessage: 'dropped' } },
})
const taken: Reply = { status: 200, body: { partialSuccess: {} } }

presetContract('otlp', {
  settings: (url, bearerToken) => ({ url, bearerToken }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  taken: () => taken,
  refused: () => ({ reply: { status: 400, body: status(3, 'ReadInt64: invalid syntax') }, stored: [] }),
  fewer: (ids) => ({ reply: rejected('3'), stored: ids.slice(0, -3), lost: 3 }),
  unauthorised: {
    status: 401,
    body: status(16, 'provided authorization does not match expected scheme or token'),
  },
})

const events = buildEvents(3, 'e')
const read = readWith({ preset: 'otlp', url: 'http://collector:4318' }, events)

describe('an answer of a receiver of OTLP', () => {
  it('with a negative count reports no lost records', () => {
    expect(read(rejected('-2'))).toEqual({ kind: 'delivered' })
  })

  it.each<[string, Reply, object]>([
    ['success, as the Collector says it', taken, { kind: 'delivered' }],
    ['success, as the protocol says it', { status: 200, body: {} }, { kind: 'delivered' }],
    ['a warning', { status: 200, body: { partialSuccess: { errorMessage: 'slow' } } }, { kind: 'delivered' }],
    [
      'records dropped, the count as text',
      rejected('2'),
      { kind: 'delivered', lost: { count: 2, answer: 'dropped' } },
    ],
    ['all records dropped: then it is known which', rejected(3), { kind: 'each' }],
    ['another body', { status: 200, body: 'ok' }, { kind: 'retry', code: 'bad_body' }],
    [
      'a body that is too large',
      { status: 400, body: status(3, 'http: request body too large') },
      { kind: 'split', reason: 'too_large' },
    ],
    ['a permanent error', { status: 501 }, { kind: 'split', reason: 'refused' }],
  ])('is read: %s', (_name, reply, verdict) => {
    expect(read(reply)).toMatchObject(verdict)
  })
})

it('has a resource per zone in a body of OTLP', () => {
  const preset = presetWith({ preset: 'otlp', url: 'http://collector:4318/', format: 'native' })
  const mixed = [...events, buildEvent({ id: 'other', zone: { id: 7, name: '' } })]
  const pieces = mixed.map((event) => pieceOf(event, preset.piece(event, '{}'), preset.layout))
  const body = JSON.parse(joinPieces(pieces, preset.layout).toString()) as {
    resourceLogs: { scopeLogs: { logRecords: object[] }[] }[]
  }
  expect(preset.url).toBe('http://collector:4318/v1/logs')
  expect(body.resourceLogs.map(({ scopeLogs }) => scopeLogs[0]!.logRecords.length)).toEqual([3, 1])
  expect(body.resourceLogs[0]!.scopeLogs[0]!.logRecords[0]).toMatchObject({
    timeUnixNano: '1763633472123000000',
    body: { stringValue: '{}' },
  })
})
