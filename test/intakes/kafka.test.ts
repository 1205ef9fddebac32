import { beforeAll, expect, test } from 'vitest'
import { logged, zones, type Workplace } from '../e2e/workplace.ts'
import { strangeFiles } from '../setup/strange-files.ts'
import { tlsFixture } from '../setup/tls.ts'
import { waitFor } from '../setup/wait-for.ts'
import type { SinkSettings } from './intake.ts'
import { deadLettersOf, expectShipped, idsOf, placeFor, reconfigure } from './place.ts'
import { KafkaBroker, password } from './servers/kafka.ts'

let broker: KafkaBroker
beforeAll(async () => {
  broker = await KafkaBroker.start()
})

const sinkTo = (topic: string, more: SinkSettings = {}): SinkSettings => ({
  type: 'kafka',
  brokers: [broker.plain],
  topic,
  ...more,
})
const login = (username: string, of = password): SinkSettings => ({
  brokers: [broker.withLogin],
  sasl: { mechanism: 'plain', username, password: of },
})

async function idsIn(topic: string): Promise<string[]> {
  const messages = await broker.messagesIn(topic)
  return messages.map(({ value }) => (JSON.parse(value) as { id: string }).id)
}

async function codesOf(place: Workplace): Promise<{ readonly codes: Set<unknown>; readonly stderr: string }> {
  const { code, stderr } = await place.once()
  expect(code, stderr).toBe(1)
  return { codes: new Set(logged(stderr).flatMap(({ code: of }) => (of === undefined ? [] : [of]))), stderr }
}

test.each(['zstd', 'gzip', 'none'])(
  'has each event of three days once, keyed by zone, with its id (%s)',
  async (compression) => {
    const topic = await broker.freshTopic()
    const place = await placeFor(sinkTo(topic, { compression, ...login('shipper') }))
    const { code, stdout, stderr } = await place.ended(['check'])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('connected unencrypted, 1 broker')
    expect(await broker.messagesIn(topic)).toEqual([])
    await expectShipped(place)
    const messages = await broker.messagesIn(topic)
    const events = messages.map(
      ({ value }) => JSON.parse(value) as { id: string; time: string; zone: { id: number } },
    )
    expect(events.map(({ id }) => id).toSorted()).toEqual(idsOf(place).toSorted())
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
    for (const [index, { key, timestamp, id }] of messages.entries()) {
      expect(key).toBe(String(events[index]!.zone.id))
      expect(Number(timestamp)).toBe(Math.floor(Date.parse(events[index]!.time)))
      expect(id).toMatch(/^[\da-f]{16}$/)
    }
    // The messages of a zone are in one partition.
    const places = new Set(messages.map(({ key, partition }) => `${key} ${partition}`))
    expect(places.size).toBe(new Set(messages.map(({ key }) => key)).size)
  },
)

test.each([
  ['a wrong password', () => login('shipper', 'another'), /login was refused .*check sasl/],
  ['a user who may only read', () => login('reader'), /grant the user WRITE/],
  ['a topic that does not exist', () => ({ topic: 'none' }), /topic does not exist \(none\); create it/],
  ['TLS where there is none', () => ({ tls: {} }), /TLS|trusted connection/],
  ['an authority that is not trusted', () => ({ ...scramOver('scram-sha-512'), tls: {} }), /tls\.caFile/],
  [
    'a wrong password of SCRAM',
    () => ({ ...secured({ mechanism: 'scram-sha-512', username: 'shipper', password: 'another' }) }),
    /login was refused .*check sasl/,
  ],
  ['plain text to a port with TLS', () => ({ brokers: [broker.overTls] }), /tls/],
  ['a mechanism that is not offered', () => scram(), /mechanism .*check sasl.mechanism/],
])(
  'with %s: has nothing, nothing becomes a dead letter, and has all events once that is mended',
  async (_what, wrong, remedy) => {
    const topic = await broker.freshTopic()
    const place = await placeFor(sinkTo(topic, wrong()), { days: 20 })
    const checked = await place.ended(['check'])
    expect(checked.code).toBe(1)
    expect(checked.stdout + checked.stderr).toMatch(remedy)
    const { codes, stderr } = await codesOf(place)
    expect(['sink_refuses', 'tls'], stderr).toContain([...codes][0])
    expect(stderr).toMatch(remedy)
    expect(await deadLettersOf(place)).toEqual([])
    expect(await broker.messagesIn(topic)).toEqual([])
    reconfigure(place, sinkTo(topic))
    await expectShipped(place)
    expect((await idsIn(topic)).toSorted()).toEqual(idsOf(place).toSorted())
  },
)

function scram(): SinkSettings {
  return { ...login('shipper'), sasl: { mechanism: 'scram-sha-256', username: 'shipper', password } }
}

test('a message that is too large becomes a dead letter, and all others are delivered', async () => {
  const topic = await broker.freshTopic({ 'max.message.bytes': '1800' })
  const place = await placeFor(sinkTo(topic, { compression: 'none', include: { raw: true } }), { days: 20 })
  await place.once()
  const dead = await deadLettersOf(place)
  expect(dead.length).toBeGreaterThan(0)
  expect(new Set(dead.map(({ reason }) => reason))).toEqual(new Set(['too_large']))
  expect(dead[0]!.answer).toContain('MESSAGE_TOO_LARGE')
  const stored = await idsIn(topic)
  expect([...stored, ...dead.map(({ id }) => id)].toSorted()).toEqual(idsOf(place).toSorted())
})

test('has all events although the shipper was killed again and again', async () => {
  const topic = await broker.freshTopic()
  const place = await placeFor(sinkTo(topic, { batch: { maxEvents: 20 } }))
  for (let round = 0; round < 5; round++) {
    const before = await broker.countIn(topic)
    const child = place.start(['run', '--once'])
    await waitFor(async () => (await broker.countIn(topic)) > before || !child.isRunning(), {
      timeoutMs: 60_000,
      everyMs: 1,
      what: () => child.stderr(),
    })
    expect(child.isRunning(), child.stderr()).toBe(true)
    await child.kill('SIGKILL')
  }
  await expectShipped(place)
  const stored = await idsIn(topic)
  expect([...new Set(stored)].toSorted()).toEqual(idsOf(place).toSorted())
  // What a killed shipper had not committed is there twice, with the same id.
  const messages = await broker.messagesIn(topic)
  expect(new Set(messages.map(({ id }) => id)).size).toBe(idsOf(place).length)
  process.stderr.write(`${stored.length - new Set(stored).size} of ${stored.length} messages are repeats\n`)
})

const secured = (sasl: SinkSettings): SinkSettings => ({
  brokers: [broker.overTls],
  tls: { caFile: tlsFixture('ca.pem') },
  sasl,
})
const scramOver = (mechanism: string) => secured({ mechanism, username: 'shipper', password })

/** Not signed: what the broker of the tests takes. */
function tokenOf(user: string): string {
  const now = Math.floor(Date.now() / 1000)
  const parts = [{ alg: 'none' }, { sub: user, iat: now, exp: now + 3600 }]
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
}

test.each([
  ['SCRAM-SHA-256 over TLS', () => scramOver('scram-sha-256')],
  ['SCRAM-SHA-512 over TLS', () => scramOver('scram-sha-512')],
  ['OAUTHBEARER over TLS', () => secured({ mechanism: 'oauthbearer', token: tokenOf('shipper') })],
  [
    'a certificate of the client',
    () => ({
      brokers: [broker.withCertificate],
      tls: {
        caFile: tlsFixture('ca.pem'),
        certFile: tlsFixture('client.pem'),
        keyFile: tlsFixture('client.key'),
      },
    }),
  ],
])('logs in with %s, passes check, and has each event once', async (_what, settings) => {
  const topic = await broker.freshTopic()
  const place = await placeFor(sinkTo(topic, settings()), { days: 20 })
  const { code, stdout, stderr } = await place.ended(['check'])
  expect(code, stdout + stderr).toBe(0)
  expect(stdout).toContain('connected over TLS, 1 broker')
  await expectShipped(place)
  expect((await idsIn(topic)).toSorted()).toEqual(idsOf(place).toSorted())
})

test('takes an authority, and a certificate with its key, from files that changed, without a signal', async () => {
  const topic = await broker.freshTopic()
  const files = strangeFiles()
  const sink = sinkTo(topic, { brokers: [broker.withCertificate], tls: files.settings })
  const place = await placeFor(sink, { days: 20 }, { server: { port: 0 } })
  const child = place.start(['run'])
  await child.waitForLine(/"event":"StreamFailed".*"code":"tls"/)
  files.put('ca.pem')
  // Of another pair: what was there before stays in use until the other half has come.
  files.put('client.key')
  await child.waitForLine(/the ones from before stay in use/, 120_000)
  expect(await broker.messagesIn(topic)).toEqual([])
  files.put('client.pem')
  await waitFor(async () => new Set(await idsIn(topic)).size === idsOf(place).length, {
    timeoutMs: 180_000,
    everyMs: 500,
    what: () => `all events: ${child.stderr()}`,
  })
  await child.kill('SIGTERM')
  expect((await idsIn(topic)).toSorted()).toEqual(idsOf(place).toSorted())
})

test('writes the events of each zone to its own topic', async () => {
  const prefix = await broker.freshTopic()
  for (const zone of zones) await broker.freshTopic({}, `${prefix}-${zone}`)
  const place = await placeFor(sinkTo(`${prefix}-{zone}`), { days: 20 })
  await expectShipped(place)
  const stored: string[] = []
  for (const zone of zones) {
    const messages = await broker.messagesIn(`${prefix}-${zone}`)
    expect(new Set(messages.map(({ key }) => key))).toEqual(new Set([String(zone)]))
    stored.push(...messages.map(({ value }) => (JSON.parse(value) as { id: string }).id))
  }
  expect(stored.toSorted()).toEqual(idsOf(place).toSorted())
})

// The last one: the broker that it starts ends with it.
test('goes on after the broker was killed and started again, and has all events', async () => {
  const topic = await broker.freshTopic()
  const place = await placeFor(sinkTo(topic, { batch: { maxEvents: 20 } }), {}, { server: { port: 0 } })
  const child = place.start(['run'])
  await waitFor(async () => (await broker.countIn(topic)) > 0, { everyMs: 1, what: () => child.stderr() })
  await broker.kill()
  await broker.start()
  await waitFor(async () => new Set(await idsIn(topic)).size === idsOf(place).length, {
    timeoutMs: 120_000,
    everyMs: 500,
    what: () => `all events: ${child.stderr()}`,
  })
  await child.kill('SIGTERM')
  expect(await deadLettersOf(place)).toEqual([])
})
