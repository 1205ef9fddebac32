import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { dayOf } from '../../src/domain/day.ts'
import type { Failure } from '../../src/domain/failure.ts'
import { takenOf } from '../../src/domain/event/delivery.ts'
import { buildEvent } from '../formats/events.ts'
import { waitFor } from '../setup/wait-for.ts'
import { kafkaSink, type KafkaSettings } from '../sinks/kafka/kafka-sink.ts'
import { KafkaBroker, password } from './servers/kafka.ts'

// What topics do with records after they took them, or because of their times.

const hourMs = 3_600_000
const always = new AbortController().signal

let broker: KafkaBroker
beforeAll(async () => {
  broker = await KafkaBroker.start()
})

const sinkTo = (topic: string, more: Partial<KafkaSettings> = {}) =>
  kafkaSink({ brokers: [broker.plain], topic, ...more })

/** A login with the right to write, and not to read settings. */
const writer = (): Partial<KafkaSettings> => ({
  brokers: [broker.withLogin],
  sasl: {
    mechanism: 'plain',
    username: 'shipper',
    password: { reveal: () => password, reread: () => undefined },
  } as unknown as NonNullable<KafkaSettings['sasl']>,
})

/** Events of so many hours ago; negative: ahead. */
const agedEvents = (...hours: number[]) => hours.map((age) => agedEvent(age))

function agedEvent(age: number, id = `aged-${age}`) {
  const timeMs = Date.now() - age * hourMs
  return buildEvent({ id, timeMs, time: new Date(timeMs).toISOString() })
}

async function deliver(sink: ReturnType<typeof sinkTo>, events: ReturnType<typeof agedEvents>) {
  const stream = await sink.open({ zone: 101, day: dayOf(Date.now()), sink: 'bus' }, {}, always)
  const delivery = await stream.deliver(events, always)
  return {
    taken: takenOf(events, delivery).map(({ id }) => id),
    refused: delivery.refusals.map(({ event }) => event.id),
    skipped: (delivery.skipped ?? []).map(({ event, answer }) => `${event.id}: ${answer}`),
  }
}

async function storedIn(topic: string) {
  const messages = await broker.messagesIn(topic)
  return messages.map(({ value, timestamp }) => ({
    id: (JSON.parse(value) as { id: string }).id,
    ageHours: Math.round((Date.now() - Number(timestamp)) / hourMs),
  }))
}

test.each([
  ['retention.ms', writer, []],
  ['message.timestamp.before.max.ms', writer, ['aged-30', 'aged-60']],
  ['retention.ms', () => ({}), ['aged-30', 'aged-60']],
  ['message.timestamp.before.max.ms', () => ({}), ['aged-30', 'aged-60']],
] as const)(
  'a topic with %s of a day: what is older is skipped, not a dead letter',
  async (setting, login, old) => {
    const topic = await broker.freshTopic({ [setting]: String(24 * hourMs) })
    const sink = sinkTo(topic, login())
    // Rights that were granted just now may not hold yet.
    await waitFor(() => sink.check(always), { everyMs: 100, what: 'the right to write' })
    const { taken, refused, skipped } = await deliver(sink, agedEvents(0, 1, 20, 30, 60))
    expect(refused).toEqual([])
    expect(skipped.map((text) => text.split(':')[0])).toEqual(old)
    expect(taken).toEqual(
      ['aged-0', 'aged-1', 'aged-20', 'aged-30', 'aged-60'].filter((id) => !skipped.join().includes(id)),
    )
  },
)

test('with the right to read its settings, the limit of the topic is named', async () => {
  const topic = await broker.freshTopic({ 'retention.ms': String(24 * hourMs) })
  const sink = sinkTo(topic)
  const { skipped } = await deliver(sink, agedEvents(30))
  const limit = /the topic takes no record, or keeps none, that is older than 1 d \(retention\.ms\)/
  expect(skipped[0]).toMatch(limit)
  const checked = await sink.check(always)
  expect(checked?.note).toMatch(limit)
  expect(checked?.untested).toBeUndefined()
  expect((await sinkTo(topic, writer()).check(always))?.untested).toMatch(/DESCRIBE_CONFIGS/)
  expect((await sinkTo(topic, { timestamp: 'arrival' }).check(always))?.note).toBeUndefined()
})

test('timestamp: arrival keeps old events in such a topic', async () => {
  const limit = String(24 * hourMs)
  const topic = await broker.freshTopic({ 'retention.ms': limit, 'message.timestamp.before.max.ms': limit })
  const { taken } = await deliver(sinkTo(topic, { timestamp: 'arrival' }), agedEvents(30, 60))
  expect(taken).toHaveLength(2)
  expect(await storedIn(topic)).toEqual(['aged-30', 'aged-60'].map((id) => ({ id, ageHours: 0 })))
})

test('a topic that sets the times itself takes events of any age', async () => {
  const topic = await broker.freshTopic({
    'message.timestamp.type': 'LogAppendTime',
    'retention.ms': '3600000',
  })
  expect((await deliver(sinkTo(topic), agedEvents(30, 60))).taken).toHaveLength(2)
})

test('an event ahead of the clock of the broker arrives, with the time of its arrival', async () => {
  const topic = await broker.freshTopic({ 'message.timestamp.after.max.ms': '3600000' })
  const { taken, refused, skipped } = await deliver(sinkTo(topic), agedEvents(-2, -30, 3))
  expect([taken.length, refused, skipped]).toEqual([3, [], []])
  expect(await storedIn(topic)).toEqual([
    { id: 'aged--2', ageHours: 0 },
    { id: 'aged--30', ageHours: 0 },
    { id: 'aged-3', ageHours: 3 },
  ])
})

test('a compacted topic stops the sink before the first event', async () => {
  const topic = await broker.freshTopic({ 'cleanup.policy': 'compact' })
  const sink = sinkTo(topic)
  const stops = {
    kind: 'stop',
    code: 'sink_refuses',
    message: expect.stringContaining('set cleanup.policy=delete'),
  }
  await expect(sink.check(always)).rejects.toMatchObject(stops)
  await expect(deliver(sink, agedEvents(1))).rejects.toMatchObject(stops)
  expect(await broker.messagesIn(topic)).toEqual([])
})

test('check looks at the topic of each zone, and names the one that is missing or compacted', async () => {
  const prefix = await broker.freshTopic()
  const sink = sinkTo(`${prefix}-{zone}`)
  await broker.freshTopic({}, `${prefix}-101`)
  await expect(sink.check(always, [101])).resolves.toMatchObject({ found: expect.any(String) })
  await expect(sink.check(always, [101, 102])).rejects.toMatchObject({
    kind: 'stop',
    message: expect.stringContaining(`the topic does not exist (${prefix}-102)`),
  })
  await broker.freshTopic({ 'cleanup.policy': 'compact' }, `${prefix}-103`)
  await expect(sink.check(always, [101, 103])).rejects.toMatchObject({
    message: expect.stringContaining(`topic ${prefix}-103 is compacted`),
  })
})

test('the error names an address that a broker gives and that cannot be reached', async () => {
  const topic = await broker.freshTopic()
  const sink = sinkTo(topic, { brokers: [broker.advertised] })
  const named =
    /kafka-0\.internal\.invalid:9092, which a broker gives as its address \(advertised\.listeners\): .*ENOTFOUND/
  await expect(sink.check(always)).rejects.toMatchObject({
    code: 'network',
    message: expect.stringMatching(named),
  })
  await expect(deliver(sink, agedEvents(1))).rejects.toMatchObject({ message: expect.stringMatching(named) })
})

test('a quota slows the sink down, and nothing arrives twice', async () => {
  const topic = await broker.freshTopic()
  await broker.limit('shieldlog', 12_000)
  onTestFinished(() => broker.limit('shieldlog', undefined))
  // The brokers do not read from a client for longer than this.
  const sink = sinkTo(topic, { timeoutSeconds: 3 })
  const stream = await sink.open({ zone: 101, day: dayOf(Date.now()), sink: 'bus' }, {}, always)
  const codes = new Set<unknown>()
  for (const prefix of ['a', 'b', 'c']) {
    const events = Array.from({ length: 200 }, (_, nth) => agedEvent(1, `${prefix}-${nth}`))
    const delivered = () =>
      stream.deliver(events, always).catch((error: unknown) => {
        codes.add((error as Failure).code)
      })
    await waitFor(delivered, { everyMs: 200, what: () => [...codes].join() })
  }
  expect([...codes]).toEqual(['throttled'])
  expect(await storedIn(topic)).toHaveLength(600)
})
