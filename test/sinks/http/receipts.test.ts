import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { takenOf } from '../../../src/domain/event/delivery.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { createReceipts } from '../../../src/sinks/http/receipts.ts'
import { buildEvents } from '../../formats/events.ts'
import {
  answerWith,
  deliver,
  failureOf,
  type Got,
  never,
  type Reply,
  serve,
  ship,
} from './destination-server.ts'
import { ofSplunk, receiptsIn } from './presets/dialects.ts'

const events = buildEvents(4)
const acks = (receipts: readonly number[], isIndexed: boolean): Reply => ({
  status: 200,
  body: { acks: Object.fromEntries(receipts.map((receipt) => [receipt, isIndexed])) },
})

interface Splunk {
  /** `ackId` of a body, by its number; default: its number. */
  readonly receiptOf?: (index: number) => number
  /** Default: all are indexed. */
  readonly onPoll?: (receipts: readonly number[], polls: number, got: Got) => Reply
  readonly onBody?: (got: Got, index: number) => Reply | undefined
  readonly token?: Secret
  /** Its path, a secret that is read again. */
  readonly pathOf?: () => string
  readonly isWithout?: true
}

/** A sink with bodies of two events and a Splunk. Waits between polls are over at once, and count for the clock. */
async function acknowledging({
  receiptOf = (index) => index,
  onPoll,
  onBody,
  token,
  pathOf = () => '',
  isWithout,
}: Splunk = {}) {
  const bodies: Got[] = []
  const polled: number[][] = []
  const server = await serve((got, response) => {
    const isPoll = got.path.includes('/services/collector/ack')
    if (got.text === '') return answerWith(response, ofSplunk(400, 5, 'No data'))
    if (isPoll && isWithout === true) return answerWith(response, ofSplunk(400, 14, 'ACK is disabled'))
    if (isPoll && got.text.includes('2147483647')) return answerWith(response, acks([2147483647], false))
    if (isPoll) {
      const receipts = receiptsIn(got.text)
      polled.push([...receipts])
      return answerWith(response, onPoll?.(receipts, polled.length, got) ?? acks(receipts, true))
    }
    bodies.push(got)
    const reply = onBody?.(got, bodies.length - 1)
    const body = { text: 'Success', code: 0, ackId: receiptOf(bodies.length - 1) }
    return answerWith(response, reply ?? { status: 200, body })
  })
  let passedMs = 0
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + passedMs,
    async sleep(ms, signal) {
      // That of a request.
      if (ms === 20_000) return systemClock.sleep(ms, signal)
      await systemClock.sleep(1, signal)
      passedMs += ms
    },
  }
  const batch = { maxEvents: 2, maxBytes: 1_000_000 }
  const own = {
    acknowledge: true,
    token: token ?? new Secret('t0ken'),
    path: '/services/collector',
    source: 's',
    sourcetype: 't',
  }
  const addressOf = () => server.url + pathOf()
  const secretUrl = new Secret(addressOf(), addressOf)
  const options = { preset: 'splunk-hec', timeoutSeconds: 20, batch, secretUrl, ...own }
  const { sink } = ship(addressOf(), options, { clock })
  return { sink, bodies, polled, passedMs: () => passedMs }
}

test('the bodies of a delivery are polled together, until each is indexed', async () => {
  const { sink, polled } = await acknowledging({
    onPoll: (receipts, polls) =>
      polls < 3 ? acks(receipts, false) : acks(polls === 3 ? receipts.slice(1) : receipts, true),
  })
  const delivery = await deliver(sink, events)
  expect(takenOf(events, delivery)).toEqual(events)
  expect(delivery.partial).toBeUndefined()
  expect(polled).toEqual([[0, 1], [0, 1], [0, 1], [0]])
})

test('what is not confirmed in five minutes is sent again, and nothing else', async () => {
  const isIndexed = (receipt: number) => receipt !== 1
  const { sink, polled, passedMs } = await acknowledging({
    onPoll: (receipts) => acks(receipts.filter(isIndexed), true),
  })
  const { partial, bytes } = await deliver(sink, events)
  expect(partial?.taken).toEqual(events.slice(0, 2))
  const why =
    /\) did not confirm within 5 minutes that it has stored the events, so they are sent again; check its/
  expect(partial?.failure).toMatchObject({
    kind: 'retry',
    code: 'timeout',
    message: expect.stringMatching(why) as string,
  })
  expect(passedMs()).toBeGreaterThan(280_000)
  expect(passedMs()).toBeLessThanOrEqual(300_000)
  expect(polled.length).toBeLessThan(40)
  const whole = await deliver(sink, events.slice(0, 2))
  expect(bytes).toBe(whole.bytes)
})

test.each<[what: string, Reply]>([
  ['5xx', { status: 503, body: { text: 'busy', code: 9 } }],
  ['a channel that is gone', ofSplunk(400, 11, 'Invalid data channel')],
  ['a page of something else', { status: 200, body: { ok: true } }],
])('a poll that fails is repeated: %s', async (_what, reply) => {
  const passing = await acknowledging({
    onPoll: (receipts, polls) => (polls < 4 ? reply : acks(receipts, true)),
  })
  expect((await deliver(passing.sink, events)).partial).toBeUndefined()
  const lasting = await acknowledging({ onPoll: () => reply })
  const failure = await failureOf(deliver(lasting.sink, events))
  expect(failure).toMatchObject({ kind: 'retry', code: 'timeout' })
  expect(failure.message).toContain(`answered ${reply.status} (`)
})

test('a token whose file has changed while polls were refused is read again', async () => {
  const token = new Secret('old', () => 'new')
  const { sink, bodies } = await acknowledging({
    token,
    onPoll: (receipts, _polls, { headers }) =>
      headers.authorization === 'Splunk new' ? acks(receipts, true) : ofSplunk(403, 4, 'Invalid token'),
  })
  expect((await deliver(sink, events)).partial).toBeUndefined()
  expect(bodies).toHaveLength(2)
})

test('bodies keep their channel, and so their receipts, where the address has changed while polls were refused', async () => {
  let current = 'now'
  const channels = new Set<unknown>()
  const { sink, bodies } = await acknowledging({
    pathOf: () => `/in/code-of-${current}-which-is-long`,
    onPoll(receipts, _polls, { path, headers }) {
      channels.add(headers['x-splunk-request-channel']).add(/channel=(.*)$/.exec(path)?.[1])
      const isGone = path.includes('now')
      current = 'later'
      return isGone ? { status: 403 } : acks(receipts, true)
    },
  })
  expect((await deliver(sink, events)).partial).toBeUndefined()
  expect(bodies).toHaveLength(2)
  expect(channels).toEqual(new Set([bodies[0]!.headers['x-splunk-request-channel']]))
})

test('no event is sent to a token without acknowledgement, at any try', async () => {
  const { sink, bodies } = await acknowledging({ isWithout: true })
  for (let tries = 0; tries < 2; tries++)
    expect(await failureOf(deliver(sink, events))).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
  expect(bodies).toEqual([])
})

test('a token that loses its acknowledgement gets one body, and none at the next tries', async () => {
  let lost = false
  const parts = await acknowledging({
    onBody: () => (lost ? ofSplunk(200, 0, 'Success') : undefined),
    onPoll: (receipts) => (lost ? ofSplunk(400, 14, 'ACK is disabled') : acks(receipts, true)),
  })
  await deliver(parts.sink, events)
  lost = true
  const failure = await failureOf(deliver(parts.sink, events))
  expect(failure.message).toContain('(it gives no ackId): turn indexer acknowledgement on for this token')
  expect(parts.bodies).toHaveLength(3)
})

test('an id that stands for two bodies, as after a restart of Splunk, confirms neither', async () => {
  const { sink, bodies } = await acknowledging({ receiptOf: (index) => [7, 7, 8][index] ?? index })
  const { partial } = await deliver(sink, events)
  // The second body was sent again, and got an id of its own.
  expect(bodies.map(({ text }) => text)).toEqual([bodies[0]!.text, bodies[1]!.text, bodies[1]!.text])
  expect(partial?.taken).toEqual(events.slice(2))
  expect(partial?.failure?.message).toContain('gave one acknowledgement id to two bodies')
})

test('nor does one that a third body gets, as from servers that each count from 0', async () => {
  const { sink, bodies, polled } = await acknowledging({ receiptOf: () => 7 })
  const failure = await failureOf(deliver(sink, events))
  expect(failure).toMatchObject({ kind: 'retry', message: expect.stringContaining('id 7') as string })
  expect(bodies.length).toBeGreaterThan(2)
  expect(polled).toEqual([])
})

test('an id that was confirmed is free for a body of another stream, which alone asks for it', async () => {
  const receipts = createReceipts({ ...systemClock, sleep: () => Promise.resolve() }, 'sink s')
  const stored: string[] = []
  const waiting = (...ids: number[]) =>
    new Map(ids.map((id) => [id, () => void stored.push(`of ${ids.join()}: ${id}`)]))
  for (const id of [0, 1]) expect(receipts.begin(id)).toBe(true)
  const asked: (readonly number[])[] = []
  const poll = async (ids: readonly number[]) => {
    asked.push(ids)
    if (asked.length === 1) return [0]
    if (asked.length === 2) expect(receipts.begin(0)).toBe(true)
    return ids
  }
  await receipts.confirm(waiting(0, 1), poll, never)
  expect(asked).toEqual([[0, 1], [1]])
  await receipts.confirm(waiting(0), poll, never)
  expect(stored).toEqual(['of 0,1: 0', 'of 0,1: 1', 'of 0: 0'])
})

test('what was confirmed before the next body failed counts as delivered', async () => {
  const refusal = ofSplunk(403, 4, 'Invalid token')
  const { sink } = await acknowledging({ onBody: (_got, index) => (index > 0 ? refusal : undefined) })
  const { partial } = await deliver(sink, events)
  expect(partial?.taken).toEqual(events.slice(0, 2))
  expect(partial?.failure).toMatchObject({ kind: 'stop' })
})

test('a stop ends the wait at once', async () => {
  const stop = new AbortController()
  const { sink } = await acknowledging({
    onPoll: (receipts, polls) => {
      if (polls === 2) stop.abort()
      return acks(receipts, false)
    },
  })
  const startedMs = performance.now()
  expect(await failureOf(deliver(sink, events, AbortSignal.any([stop.signal, never])))).toMatchObject({
    kind: 'cancelled',
  })
  expect(performance.now() - startedMs).toBeLessThan(15_000)
})
