import { describe, expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, presetWith, readWith } from './dialects.ts'

// Statuses and texts of codes: Splunk, "Troubleshoot HTTP Event Collector", table of possible error codes.
const code = (status: number, number: number, text: string, at?: number): Reply => ({
  status,
  body: { text, code: number, ...(at !== undefined && { 'invalid-event-number': at }) },
})
const success = code(200, 0, 'Success')

presetContract('splunk-hec', {
  settings: (url, token) => ({ url, token }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  taken: () => success,
  refused: (ids, bad) => {
    const first = ids.findIndex((id) => bad.includes(id))
    return { reply: code(400, 6, 'Invalid data format', first), stored: ids.slice(0, first) }
  },
  fewer: (ids) => ({ reply: code(503, 9, 'Server is busy', 4), stored: ids.slice(0, 4), lost: 0 }),
  unauthorised: code(403, 4, 'Invalid token'),
})

const token = new Secret('t0ken')
const events = buildEvents(4, 'e')
const read = readWith({ preset: 'splunk-hec', url: 'https://splunk:8088', token }, events)

describe('an answer of Splunk', () => {
  it.each<[string, Reply, object]>([
    ['success', success, { kind: 'delivered' }],
    ['a token that is disabled', code(403, 1, 'Token disabled'), { kind: 'stop', credentials: true }],
    ['no token', code(401, 2, 'Token is required'), { kind: 'stop', credentials: true }],
    ['a wrong token', code(403, 4, 'Invalid token'), { kind: 'stop', remedy: 'check token' }],
    [
      'a wrong index',
      code(400, 7, 'Incorrect index', 0),
      { kind: 'stop', credentials: false, said: 'code 7: Incorrect index' },
    ],
    [
      'a token with acknowledgement',
      code(400, 10, 'Data channel is missing'),
      { kind: 'stop', credentials: false },
    ],
    ['an internal error', code(500, 8, 'Internal server error'), { kind: 'retry', code: 'server_error' }],
    ['a busy server', code(503, 9, 'Server is busy'), { kind: 'retry' }],
    [
      'a blank event somewhere',
      code(400, 13, 'Event field cannot be blank'),
      { kind: 'split', reason: 'refused' },
    ],
    ['a newer code', code(503, 26, 'new'), { kind: 'retry' }],
    ['another body', { status: 200, body: '<html>' }, { kind: 'retry', code: 'bad_body' }],
  ])('is read: %s', (_name, reply, verdict) => {
    expect(read(reply)).toMatchObject(verdict)
  })

  it.each([-1, 0.5, 4, 1e300])('that names no event of the body, but %d, names none', (at) => {
    expect(read(code(400, 12, 'Event field is required', at))).toMatchObject({ kind: 'split' })
  })

  it('that names an event means that those before it are indexed, and none after it', () => {
    expect(read(code(400, 12, 'Event field is required', 1))).toEqual({
      kind: 'each',
      outcomes: new Map<string, unknown>([
        ['e-0', 'delivered'],
        ['e-1', { refused: 'refused', answer: 'code 12: Event field is required' }],
        ['e-2', 'unsent'],
        ['e-3', 'unsent'],
      ]),
    })
    const retry = { retry: 'code 9: Server is busy' }
    expect(read(code(503, 9, 'Server is busy', 2))).toEqual({
      kind: 'each',
      outcomes: new Map<string, unknown>([
        ['e-0', 'delivered'],
        ['e-1', 'delivered'],
        ['e-2', retry],
        ['e-3', retry],
      ]),
    })
  })
})

describe('an event for Splunk', () => {
  it('has an envelope with the time in seconds, to the last digit', () => {
    const preset = presetWith({ preset: 'splunk-hec', url: 'https://splunk:8088', token, index: 'waf' })
    const precise = buildEvent({ time: '2025-11-20T10:11:12.123456789Z', timeMs: 1_763_633_472_123 })
    const piece = preset.piece(precise, '{"id":"x"}')
    expect(piece).toContain('"time":1763633472.123456789,')
    expect(JSON.parse(piece)).toMatchObject({
      host: 'shop',
      source: 'shieldlog',
      sourcetype: 'bunny:shield',
      index: 'waf',
      event: { id: 'x' },
    })
    expect(preset.url).toBe('https://splunk:8088/services/collector/event')
  })
})
