import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import { retryAtOf } from '../../../src/sinks/http/exchanges.ts'
import {
  type Authorisation,
  type Preset,
  readPage,
  type Verdict,
} from '../../../src/sinks/http/protocol/preset.ts'
import { createPreset } from '../../../src/sinks/http/presets/registry.ts'
import { Requests } from '../../../src/sinks/http/requests.ts'
import type { EventOutcome } from '../../../src/sinks/settle.ts'
import { buildEvents } from '../../formats/events.ts'
import { keepInternalEvents, named } from '../internal-events.ts'
import {
  deliver,
  failureOf,
  ship,
  type DestinationServer,
  format,
  inTurn,
  never,
  reply,
  type Respond,
  serve,
  settingsOf,
} from './destination-server.ts'

const token = 'Bearer s3cr3t-token'
const pieces = buildEvents(3).map((event) => {
  const text = format.encode(event)
  return { event, text, bytes: Buffer.byteLength(text) }
})
const size = pieces[0]!.bytes

/** The requests of a sink with a preset that reads every answer as it is told. */
async function createParts(respond: Respond, verdict: Verdict, changed: Partial<Preset> = {}) {
  const server: DestinationServer = await serve(respond)
  const { telemetry, internalEvents } = keepInternalEvents()
  const preset: Preset = {
    url: server.url,
    mediaType: 'application/x-ndjson',
    piece: (_event, line) => line,
    layout: { before: '', between: '\n', after: '\n' },
    read: () => verdict,
    check: () => Promise.resolve({}),
    ...changed,
  }
  const settings = settingsOf(server.url, { headers: { Authorization: token } })
  const deps = { format, clock: systemClock, telemetry, version: 'test', random: () => 0 }
  const requests = new Requests(settings, preset, deps)
  return { server, send: requests.send.bind(requests), answered: () => named(internalEvents, 'SinkAnswered') }
}

/** Outcomes of the first events. */
const each = (...outcomes: EventOutcome[]): Verdict => ({
  kind: 'each',
  outcomes: new Map(outcomes.map((outcome, index) => [pieces[index]!.event, outcome])),
})
const refused: EventOutcome = { refused: 'refused', answer: 'no' }
const retry: EventOutcome = { retry: 'busy' }

describe('what a request is counted as', () => {
  it.each<[string, number, Verdict, string, number]>([
    ['delivered with 409', 409, { kind: 'delivered' }, 'ok', 3 * size],
    ['some lost', 200, { kind: 'delivered', lost: { count: 1, answer: 'x' } }, 'rejected', 3 * size],
    ['all delivered by id', 200, each('delivered', 'duplicate', 'delivered'), 'ok', 3 * size],
    ['one refused with 200', 200, each('delivered', refused, retry), 'rejected', size],
    ['one given back with 200', 200, each('delivered', 'delivered', retry), 'server_error', 2 * size],
    ['one not read', 200, each('delivered', 'unsent', 'unsent'), 'server_error', size],
    ['too short an answer', 200, each('delivered'), 'server_error', size],
    ['refused as a whole with 200', 200, { kind: 'split', reason: 'refused' }, 'rejected', 0],
  ])('depends on the verdict, not the status: %s', async (_name, status, verdict, outcome, bytes) => {
    const { send, answered } = await createParts(reply(status), verdict)
    await send(pieces, never)
    expect(answered()).toMatchObject([{ outcome, bytes }])
  })

  it.each<[string, Verdict, string]>([
    ['throttled', { kind: 'retry', code: 'throttled' }, 'throttled'],
    ['timeout', { kind: 'retry', code: 'timeout' }, 'timeout'],
    ['an unusable body', { kind: 'retry', code: 'bad_body' }, 'bad_body'],
    ['credentials', { kind: 'stop', remedy: 'x', credentials: true }, 'unauthorised'],
    ['another error', { kind: 'stop', remedy: 'x', credentials: false }, 'rejected'],
  ])('depends on the verdict if nothing was accepted with 200: %s', async (_name, verdict, outcome) => {
    const { send, answered } = await createParts(reply(200), verdict)
    await expect(send(pieces, never)).rejects.toThrow(') answered 200')
    expect(answered()[0]).toMatchObject({ outcome, bytes: 0 })
  })
})

it('masks and cuts the texts of a single event, of a stop and of a loss', async () => {
  const said = `mapper_parsing_exception for ${token} ${'x'.repeat(9_000)}`
  const [first, ...events] = buildEvents(4)
  const item = ({ id, time }: Event, status: number, type: string) => ({
    create: { _id: `101_${id}_${time}`, status, error: { type, reason: said } },
  })
  const items = [
    item(first!, 201, ''),
    item(events[0]!, 400, 'mapper'),
    item(events[1]!, 403, 'security_exception'),
  ]
  const server = await serve(reply(200, JSON.stringify({ errors: true, items })))
  const headers = { Authorization: token }
  const { sink } = ship(server.url, { preset: 'elasticsearch', index: 'waf', headers })
  const { refusals, partial } = await deliver(sink, [first!, ...events])
  const dropped = { partialSuccess: { rejectedLogRecords: 1, errorMessage: said } }
  const otlp = ship((await serve(reply(200, JSON.stringify(dropped)))).url, { preset: 'otlp', headers })
  await deliver(otlp.sink, events)
  const [lost] = named(otlp.internalEvents, 'EventsLost')
  const texts = [refusals[0]!.answer, partial!.failure!.message, lost!.answer]
  for (const text of texts) {
    expect(text).toContain('mapper_parsing_exception for *** x')
    expect(text.length).toBeLessThan(4_100)
  }
  expect(texts.join()).not.toContain('s3cr3t')
  expect(texts[1]).toMatch(/x…\): grant create_doc/)
})

it.each([
  ['text/html; charset=utf-8', '<title>Log in</title>', true],
  ['application/xhtml+xml', '<html/>', true],
  // Flask names this type for an answer without a body.
  ['text/html', '', false],
  ['text/plain', '<title>ok</title>', false],
])('takes a page of HTML for no acknowledgement: %s with %j', (type, body, isPage) => {
  const answer = { status: 200, headers: { 'content-type': type }, body: Buffer.from(body) }
  expect(readPage(answer)?.code).toBe(isPage ? 'bad_body' : undefined)
})

it('waits as long as the verdict requires, an hour at most', () => {
  const answer = { status: 429, headers: { 'retry-after': '5' }, body: Buffer.alloc(0) }
  const waits = [undefined, 61_000, 7_201_000].map((at) => retryAtOf(answer, 1000, at))
  expect(waits).toEqual([6000, 61_000, 3_601_000])
})

it('gives no clear answer if every try ended with 500 or a closed connection', async () => {
  const retryVerdict: Verdict = { kind: 'retry', code: 'server_error' }
  const cut: Respond = (_got, response) => response.socket!.resetAndDestroy()
  const unexplained = await createParts(inTurn(reply(500), cut), retryVerdict)
  expect(await unexplained.send(pieces, never)).toMatchObject({ kind: 'unexplained' })
  expect(unexplained.server.got).toHaveLength(3)
  const busy = await createParts(inTurn(reply(500), reply(503)), retryVerdict)
  expect(await failureOf(busy.send(pieces, never))).toMatchObject({ kind: 'retry', code: 'server_error' })
})

describe('credentials', () => {
  const unauthorised: Verdict = { kind: 'stop', remedy: 'x', credentials: true }

  it('are created for each try, from the body as sent', async () => {
    const bodies: string[] = []
    const { send, server } = await createParts(
      inTurn(reply(503), reply(200)),
      { kind: 'delivered' },
      {
        authorise: ({ body }) => Promise.resolve({ 'x-try': `t${bodies.push(body.toString())}` }),
        read: ({ status }) =>
          status === 200 ? { kind: 'delivered' } : { kind: 'retry', code: 'server_error' },
      },
    )
    await send(pieces, never)
    expect(server.got.map(({ headers }) => headers['x-try'])).toEqual(['t1', 't2'])
    expect(bodies).toEqual(server.got.map(({ text }) => text))
  })

  it('are requested again once after a refusal, and masked in answers of the destination', async () => {
    const refusedBefore: unknown[] = []
    const { send, server } = await createParts(reply(401, 'bad t0ken-2'), unauthorised, {
      authorise: ({ refused: old }) => {
        refusedBefore.push(old)
        return Promise.resolve({ 'x-token': `t0ken-${refusedBefore.length}` })
      },
    })
    const failure = await failureOf(send(pieces, never))
    expect(failure.message).toBe(`sink siem (${server.url}) answered 401 (bad ***): x`)
    expect(refusedBefore).toEqual([undefined, { 'x-token': 't0ken-1' }])
    expect(server.got).toHaveLength(2)
  })

  it('of another host name that one where it cannot be reached', async () => {
    const elsewhere = { url: new URL('http://127.0.0.1:1/token'), method: 'POST', headers: {} } as const
    const authorise = ({ ask }: Authorisation) => ask(elsewhere).then(() => ({}))
    const { send } = await createParts(reply(200), { kind: 'delivered' }, { authorise })
    const failure = await failureOf(send(pieces, never))
    expect(failure.message).toContain('cannot connect to http://127.0.0.1:1: connection refused')
  })

  it('that are invalid in a header are an error of the sink, and not shown', async () => {
    const authorise = () => Promise.resolve({ 'x-token': 'Bearer s3cr3t\nX: 1' })
    const { send, server } = await createParts(reply(200), { kind: 'delivered' }, { authorise })
    const failure = await failureOf(send(pieces, never))
    expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
    expect(failure.message).toMatch(/^sink siem \(.*\): the value of x-token is empty, begins/)
    expect(failure.message).not.toContain('s3cr3t')
    expect(server.got).toEqual([])
  })
})

it('signs requests with a secret that can change', async () => {
  let key = 'first-key'
  const secret = new Secret(key, () => key)
  const signature = { header: 'X-Signature', secret, algorithm: 'sha256' }
  const { authorise } = createPreset(settingsOf('http://h', { signature }), format)
  const made = async () => (await authorise!({ body: Buffer.from('what is sent') } as never))['x-signature']
  const hmac = (by: string) => `sha256=${createHmac('sha256', by).update('what is sent').digest('hex')}`
  expect(await made()).toBe(hmac('first-key'))
  key = 'second-key'
  secret.reread()
  expect(await made()).toBe(hmac('second-key'))
})
