import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { exactJson } from '../../../../src/domain/text/decode.ts'
import { formats } from '../../../../src/formats/registry.ts'
import { joinPieces, packBody, pieceOf } from '../../../../src/sinks/http/bodies.ts'
import { createPreset } from '../../../../src/sinks/http/presets/registry.ts'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { oddEntries } from '../../../fixtures/odd-entries.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { exportRequest, protobufAsJson } from '../../../formats/protobuf.ts'
import { eventOf, long, shapes } from '../../../formats/shapes.ts'
import { projectFolder } from '../../../setup/project-folder.ts'
import { named } from '../../internal-events.ts'
import { answerWith, deliver, failureOf, never, type Reply, serve, ship } from '../destination-server.ts'
import { partialSuccess, statusOf } from './dialects.ts'

const everything = { labels: true, log: true, raw: true }
const large = {
  zone: { id: Number.MAX_SAFE_INTEGER, name: 'z\ud800' },
  client: { address: '192.0.2.7', asn: 4_294_967_295 },
}
const events = [
  ...shapes.map(([, event]) => event),
  ...Object.values(oddEntries).map((text) => eventOf(exactJson(text)!)),
  long,
  buildEvent({ time: '2106-02-07T06:28:15.123456789Z' }),
  buildEvent({ time: '1970-01-01T00:00:00.001Z', timeMs: 1 }),
  buildEvent(large),
]

test.each([{}, { set: { env: 'prod', team_of: 'é' } }])(
  'a body in protobuf says the same as in JSON, by the descriptors of the protocol: %j',
  async (given) => {
    const bodyIn = async (encoding: string) => {
      const own = { type: 'http', preset: 'otlp', url: 'http://collector:4318', encoding, ...given }
      const settings = HttpSinkConfig.parse(own)
      const format = formats.otlp(everything)
      const preset = createPreset(settings, format)
      const pieces = events.map((event) => pieceOf(event, format.encode(event), preset.layout))
      const { bytes } = await packBody(pieces, preset, 'none')
      expect(bytes.length).toBeLessThanOrEqual(joinPieces(pieces, preset.layout).length)
      return bytes
    }
    const inJson = JSON.parse((await bodyIn('json')).toString()) as unknown
    expect(protobufAsJson(await bodyIn('protobuf'), exportRequest)).toEqual(inJson)
  },
)

/** What a receiver gets, and what the sink makes of its answer. */
async function exported(given: Reply, count = 4, more: object = {}) {
  const server = await serve((_got, response) => answerWith(response, given))
  const own = { type: 'http', preset: 'otlp', url: server.url, bearerToken: new Secret('s3cr3t-token') }
  const settings = HttpSinkConfig.parse({ ...own, ...more })
  const { sink, internalEvents } = ship(server.url, { ...settings }, { format: formats.otlp() })
  const delivering = deliver(sink, buildEvents(count))
  const made = await delivering.catch(() => failureOf(delivering))
  return { server, sink, made, lost: named(internalEvents, 'EventsLost') }
}

test('a request has the media type of its encoding, and is compressed', async () => {
  for (const [encoding, type] of [
    ['protobuf', 'application/x-protobuf'],
    ['json', 'application/json'],
  ]) {
    const { server } = await exported({ status: 200 }, 4, { encoding })
    expect(server.got).toHaveLength(1)
    const { path, headers, plain, body } = server.got[0]!
    expect(path).toBe('/v1/logs')
    expect(headers).toMatchObject({ 'content-type': type, 'content-encoding': 'gzip' })
    expect(body.length).toBeLessThan(plain.length)
  }
})

const asProtobuf = { 'content-type': 'application/x-protobuf' }

test.each<[string, Reply]>([
  ['nothing, which is an empty message', { status: 200, headers: asProtobuf }],
  ['an empty partial success', { status: 200, body: Buffer.of(0x0a, 0), headers: asProtobuf }],
  ['a warning', partialSuccess(0, 'slow')],
  ['{} in JSON', { status: 200, body: {} }],
  ['a field of a later version', { status: 200, body: Buffer.of(0x10, 1), headers: asProtobuf }],
])('an answer in protobuf acknowledges: %s', async (_what, given) => {
  const { server, made, lost } = await exported(given)
  expect([server.got.length, made, lost]).toMatchObject([1, { refusals: [] }, []])
})

test('dropped records are counted with the words of an answer in protobuf', async () => {
  const { lost } = await exported(partialSuccess(3, 'dropped by a filter'))
  expect(lost).toMatchObject([{ count: 3, answer: 'dropped by a filter' }])
})

test.each<[string, Reply, RegExp]>([
  ['a status', statusOf(401, 16, 'no such token'), /401 \(\{"code":16,"message":"no such token"\}\): check/],
  ['no message of the protocol', { status: 200, body: 'ok', headers: asProtobuf }, /200 \(this is not an/],
  [
    'one that breaks off',
    { status: 200, body: Buffer.of(0x0a, 9), headers: asProtobuf },
    /200 \(this is not/,
  ],
  ['another media type', { status: 415 }, /415: set encoding: json/],
  [
    'as VictoriaLogs does to JSON',
    { status: 400, body: "json encoding isn't supported for opentelemetry format. Use protobuf encoding" },
    /set encoding: json$/,
  ],
])('the failure says what an answer in protobuf says: %s', async (_what, given, message) => {
  const { made } = await exported(given)
  expect(made).toMatchObject({ message: expect.stringMatching(message) as string })
})

test('a body that the receiver calls too large is halved, also by an answer in protobuf', async () => {
  const server = await serve(({ plain }, response) => {
    const few = plain.length < 2_000
    answerWith(response, few ? { status: 200 } : statusOf(400, 3, 'http: request body too large'))
  })
  const { sink } = ship(server.url, { preset: 'otlp' }, { format: formats.otlp() })
  expect(await deliver(sink, buildEvents(4))).toMatchObject({ refusals: [] })
  expect(server.got.length).toBeGreaterThan(2)
})

test('a check exports a resource without records', async () => {
  const { sink, server } = await exported({ status: 200 }, 0)
  expect(await sink.check(never)).toMatchObject({ found: 'accepted an empty export' })
  expect(protobufAsJson(server.got[0]!.plain, exportRequest)).toEqual({ resourceLogs: [{}] })
})

test('what encodes protobuf is loaded by the first body in it, and not before', async () => {
  const code = `
import { createRequire } from 'node:module'
import { HttpSinkConfig } from './src/sinks/http/config.ts'
import { createPreset } from './src/sinks/http/presets/registry.ts'
const { cache } = createRequire(import.meta.url)
const isLoaded = () => Object.keys(cache).some((path) => path.includes('protobufjs'))
const settings = HttpSinkConfig.parse({ type: 'http', preset: 'otlp', url: 'http://collector' })
const { wire } = createPreset(settings, {})
const before = isLoaded()
await wire.encode(Buffer.from('{"resourceLogs":[]}'))
console.log(before, isLoaded())`
  const args = ['--input-type=module', '-e', code]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectFolder })
  expect(stdout).toBe('false true\n')
})
