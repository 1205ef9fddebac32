import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createExchange, type Exchange } from '../../../src/sinks/http/exchange.ts'
import type { Outcome, Preset, Verdict } from '../../../src/sinks/http/presets/preset.ts'
import { presets } from '../../../src/sinks/http/presets/registry.ts'
import { probe } from '../../../src/sinks/http/probe.ts'
import { createSend } from '../../../src/sinks/http/send.ts'
import { createTargetSource } from '../../../src/sinks/http/target.ts'
import { createSlots } from '../../../src/sinks/slots.ts'
import { createDispatcher } from '../../../src/transport/dispatcher.ts'
import { buildEvents } from '../../formats/events.ts'
import { keepInternalEvents, named } from '../internal-events.ts'
import { type FarSide, format, never, reply, type Respond, serve } from './far-side.ts'

const token = 'Bearer s3cr3t-token'
const pieces = buildEvents(3).map((event) => {
  const text = format.encode(event)
  return { event, text, bytes: Buffer.byteLength(text) }
})
const size = pieces[0]!.bytes

/** The parts below the sink, with a preset that reads every answer as it is told. */
async function createParts(respond: Respond, verdict: Verdict, internalEvents = keepInternalEvents()) {
  const server: FarSide = await serve(respond)
  const dispatcher = createDispatcher({ connections: 2 })
  const preset: Preset = { ...presets.ndjson, read: () => verdict }
  const headers = { Authorization: token }
  const targets = createTargetSource({ name: 'siem', url: server.url, headers, userAgent: 'test' })
  const base = { name: 'siem', what: 'sink siem', timeoutMs: 5_000, telemetry: internalEvents.telemetry }
  const slots = createSlots(2)
  const exchange: Exchange = createExchange({ ...base, dispatcher, slots, clock: systemClock })
  const send = createSend(
    { what: 'sink siem', compression: 'none' },
    { exchange, targets, preset, format, clock: systemClock, random: () => 0 },
  )
  const check = () => probe({ what: 'sink siem', exchange, targets, preset, clock: systemClock }, never)
  const answered = () => named(internalEvents.internalEvents, 'SinkAnswered')
  return { server, send, check, answered }
}

const each = (...outcomes: Outcome[]): Verdict => ({ kind: 'each', outcomes })
const refused: Outcome = { refused: 'refused', answer: 'no' }

describe('what a request is counted as', () => {
  it.each<[string, number, Verdict, string, number]>([
    ['accepted with 409', 409, { kind: 'accepted' }, 'ok', 3 * (size + 1)],
    ['all accepted by name', 200, each('accepted', 'accepted', 'accepted'), 'ok', 3 * size],
    ['one refused with 200', 200, each('accepted', refused, 'retry'), 'rejected', size],
    ['one given back with 200', 200, each('accepted', 'accepted', 'retry'), 'server_error', 2 * size],
    ['too short an answer', 200, each('accepted'), 'server_error', size],
    ['refused as a whole with 200', 200, { kind: 'split', reason: 'refused' }, 'rejected', 0],
  ])('is its verdict, not its status: %s', async (_name, status, verdict, outcome, bytes) => {
    const { send, answered } = await createParts(reply(status), verdict)
    await send(pieces, never)
    expect(answered()).toMatchObject([{ outcome, bytes }])
  })

  it.each<[string, Verdict, string]>([
    ['throttled', { kind: 'retry', code: 'throttled' }, 'throttled'],
    ['timeout', { kind: 'retry', code: 'timeout' }, 'timeout'],
    ['an unusable body', { kind: 'retry', code: 'bad_body' }, 'bad_body'],
    ['credentials', { kind: 'stop', remedy: 'x', credentials: true }, 'unauthorised'],
    ['another fault', { kind: 'stop', remedy: 'x', credentials: false }, 'rejected'],
  ])('is its verdict where nothing was taken with 200: %s', async (_name, verdict, outcome) => {
    const { send, answered } = await createParts(reply(200), verdict)
    await expect(send(pieces, never)).rejects.toThrow('sink siem answered 200')
    expect(answered()[0]).toMatchObject({ outcome, bytes: 0 })
  })
})

it('masks and cuts what is said of a single event', async () => {
  const answer = `mapper_parsing_exception for ${token} ${'x'.repeat(9_000)}`
  const verdict = each('accepted', { refused: 'refused', answer }, 'accepted')
  const { send } = await createParts(reply(200), verdict)
  const sent = await send(pieces, never)
  const said = sent.kind === 'each' ? sent.outcomes[1] : undefined
  const text = typeof said === 'object' ? said.answer : ''
  expect(text).toMatch(/^mapper_parsing_exception for \*\*\* x+$/)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096)
})

it('a check is judged by its status alone, whatever a preset reads in bodies', async () => {
  const { check, server } = await createParts(reply(200), { kind: 'retry', code: 'bad_body' })
  await check()
  expect(server.got.map(({ method }) => method)).toEqual(['HEAD'])
})
