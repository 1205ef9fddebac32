import { describe, expect, it, test } from 'vitest'
import { formats } from '../../../../src/formats/registry.ts'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { bodySize, joinPieces, pieceOf } from '../../../../src/sinks/http/bodies.ts'
import { arrayLayout, lineLayout } from '../../../../src/sinks/http/protocol/preset.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { presetWith, rule } from './dialects.ts'

const secret = new Secret('k')
const datadog = {
  preset: 'datadog',
  site: 'datadoghq.eu',
  apiKey: secret,
  tags: ['env:prod', 'team:waf'],
  set: { region: 'eu' },
}
const newrelic = { preset: 'newrelic', region: 'eu', licenseKey: secret }
const betterstack = { preset: 'betterstack', url: 'https://s1.betterstackdata.com', token: secret }
const axiom = { preset: 'axiom', dataset: 'waf', token: secret }
const sentinel = { preset: 'sentinel', url: 'https://x.azure.com', ...rule, clientSecret: secret }
const splunk = { preset: 'splunk-hec', url: 'https://splunk:8088', token: secret, index: 'waf' }
const loki = { preset: 'loki', url: 'http://loki:3100', labels: { job: 'waf' } }
const otlp = { preset: 'otlp', url: 'http://collector:4318/' }
const elasticsearch = {
  preset: 'elasticsearch',
  url: 'http://es:9200/prefix/',
  format: 'native',
  index: 'waf',
}

const event = buildEvent({ id: 'x' })
const { time, timeMs } = event

const ofSplunk = { host: 'shop', source: 'shieldlog', sourcetype: 'bunny:shield', index: 'waf' }
const ofDatadog = { ddsource: 'bunny-shield', ddtags: 'env:prod,team:waf,region:eu', service: 'bunny-shield' }
const rows = 'https://x.azure.com/dataCollectionRules/dcr-1/streams/Custom-Shield?api-version=2023-01-01'
const message = '{"message":"Blocked 930130 Restricted File Access Attempt","bunny":{"status":"y"}}'

test.each<[given: { preset: string }, url: string, line: string, piece: unknown]>([
  [betterstack, betterstack.url, '{"v":1}', { dt: time, v: 1 }],
  [axiom, 'https://us-east-1.aws.edge.axiom.co/v1/ingest/waf', '{"v":1}', { _time: time, v: 1 }],
  [sentinel, rows, '{"v":1}', { TimeGenerated: time, EventTime: time, EventId: 'x', v: 1 }],
  // New Relic parses the message.
  [
    newrelic,
    'https://log-api.eu.newrelic.com/log/v1',
    '{"v":1}',
    { timestamp: timeMs, message: '{"v":1}', attributes: { log_id: 'x' } },
  ],
  [
    datadog,
    'https://http-intake.logs.datadoghq.eu/api/v2/logs',
    '{"status":"y"}',
    { ...ofDatadog, hostname: 'shop', status: 'critical', timestamp: timeMs, message },
  ],
  [
    splunk,
    'https://splunk:8088/services/collector/event',
    '{"id":"x"}',
    { ...ofSplunk, time: timeMs! / 1000, event: { id: 'x' } },
  ],
  [otlp, 'http://collector:4318/v1/logs', '{"eventName":"x"}', { eventName: 'x' }],
])('$preset gets what it reads of an event, at its address', (given, url, line, piece) => {
  const preset = presetWith(given)
  expect(preset.url).toBe(url)
  expect(JSON.parse(preset.piece(event, line))).toEqual(piece)
})

test('bodies of lines have the media type of NDJSON, but for Splunk; all others that of JSON, or of protobuf', () => {
  const types = [splunk, axiom, elasticsearch, datadog, otlp].map((given) => presetWith(given).mediaType)
  expect(types).toEqual(
    ['json', 'x-ndjson', 'x-ndjson', 'json', 'x-protobuf'].map((type) => `application/${type}`),
  )
})

test('Splunk gets the time in seconds, to the last digit', () => {
  const precise = buildEvent({ time: '2025-11-20T10:11:12.123456789Z', timeMs: 1_763_633_472_123 })
  expect(presetWith(splunk).piece(precise, '{}')).toContain('"time":1763633472.123456789,')
})

test.each([
  ['https://splunk:8088', '', '/services/collector/event', '/services/collector/ack'],
  ['https://splunk:8088/', '', '/services/collector/event', '/services/collector/ack'],
  ['https://splunk:8088/services/collector', '', '/services/collector/event', '/services/collector/ack'],
  ['https://splunk:8088/services/collector/', '', '/services/collector/event', '/services/collector/ack'],
  [
    'https://splunk:8088/services/collector/event',
    '',
    '/services/collector/event',
    '/services/collector/ack',
  ],
  [
    'https://gate/splunk/services/collector',
    '',
    '/splunk/services/collector/event',
    '/splunk/services/collector/ack',
  ],
  ['https://gate/services', '', '/services/services/collector/event', '/services/services/collector/ack'],
  ['https://logscale', '/api/v1/ingest/hec', '/api/v1/ingest/hec', '/api/v1/ingest/hec/ack'],
  [
    'https://logscale/api/v1/ingest/hec',
    '/api/v1/ingest/hec',
    '/api/v1/ingest/hec',
    '/api/v1/ingest/hec/ack',
  ],
])(
  'the collector at %s with the path "%s" is asked at %s, and for receipts at %s',
  async (url, path, events, receipts) => {
    const given = { ...splunk, url, ...(path !== '' && { path }), acknowledge: true }
    const preset = presetWith(given)
    expect(new URL(preset.url).pathname).toBe(events)
    const asked: string[] = []
    await preset.confirm!([1], async ({ url: at = '' }) => {
      asked.push(new URL(at).pathname)
      return { status: 200, headers: {}, body: Buffer.from('{"acks":{}}') }
    })
    expect(asked).toEqual([receipts])
  },
)

test('a path that is none is refused', () => {
  for (const path of ['services/collector', '/a/', '/a?b', '/', '//a'])
    expect(() => presetWith({ ...splunk, path }), path).toThrow('is not a path')
})

test.each([
  [{ ...loki, url: 'http://loki:3100/loki/api/v1' }, '/loki/api/v1/push'],
  [{ ...loki, url: 'http://loki:3100/loki/api/v1/push' }, '/loki/api/v1/push'],
  [{ ...otlp, url: 'http://gate/v1' }, '/v1/v1/logs'],
  [{ ...otlp, url: 'http://gate/v1/logs' }, '/v1/logs'],
  [{ ...elasticsearch, url: 'http://gate/waf' }, '/waf/waf/_bulk'],
])('%j is completed to %s', (given, pathname) => {
  expect(new URL(presetWith(given).url).pathname).toBe(pathname)
})

/** All of them, with these types; a decoder for the agent of Datadog refuses any other member. */
const ofAgent = {
  message: 'string',
  status: 'string',
  timestamp: 'number',
  hostname: 'string',
  service: 'string',
  ddsource: 'string',
  ddtags: 'string',
}

test.each([
  ['critical', 'critical'],
  ['warning', 'warning'],
  [undefined, 'info'],
  ['odd', 'info'],
])('Datadog gets what its agent sends: of the severity %s the status %s', (severity, status) => {
  const line = formats.native().encode(event)
  const sent = JSON.parse(presetWith(datadog).piece({ ...event, severity: severity! }, line)) as Record<
    string,
    unknown
  >
  const types = Object.entries(sent).map(([name, value]) => [name, typeof value])
  expect(Object.fromEntries(types)).toEqual(ofAgent)
  expect(sent['status']).toBe(status)
  expect(JSON.parse(String(sent['message']))).toEqual({
    message: 'Blocked 930130 Restricted File Access Attempt',
    bunny: JSON.parse(line) as object,
  })
})

test('Sumo Logic gets its settings as headers', () => {
  const given = { preset: 'sumologic', url: 'https://endpoint1.collection.sumologic.com/receiver/v1/http/x' }
  expect(presetWith({ ...given, category: 'prod/waf', host: 'edge' }).headers).toEqual({
    'x-sumo-category': 'prod/waf',
    'x-sumo-host': 'edge',
  })
})

describe('a body for Elasticsearch or OpenSearch', () => {
  const preset = presetWith({ ...elasticsearch, pipeline: 'p' })

  it('is sent to the index, through the pipeline', () => {
    const { pathname, searchParams } = new URL(preset.url)
    expect([pathname, searchParams.get('pipeline')]).toEqual(['/prefix/waf/_bulk', 'p'])
    for (const asked of ['items.*._id', 'items.*.failure_store'])
      expect(searchParams.get('filter_path')).toContain(asked)
  })

  it('has an action with the id, and a document with @timestamp', () => {
    const [action, document] = preset.piece(event, '{"v":1}').split('\n')
    expect(JSON.parse(action!)).toEqual({ create: { _id: `101_x_${time}` } })
    expect(JSON.parse(document!)).toEqual({ '@timestamp': time, v: 1 })
  })

  it.each([
    ['at another time', { time: '2025-11-20T10:11:12.124Z' }],
    ['without a time', { time: undefined }],
    ['in another zone', { zone: { id: 102, name: 'blog' } }],
    ['with an id that differs only in a broken character', { id: 'a\udfff' }],
  ])('is another document for the same id %s, and the same one for the same event', (_name, parts) => {
    const actionOf = (more: object) =>
      preset.piece(buildEvent({ id: 'a\ud800', ...more }), '{}').split('\n')[0]
    expect(actionOf(parts)).not.toBe(actionOf({}))
    expect(actionOf(parts)).toBe(actionOf(parts))
  })

  it('has a hash for an id over 512 bytes, for which the server would refuse the whole body', () => {
    const long = buildEvent({ id: 'ä'.repeat(300) })
    expect(preset.piece(long, '{}')).toMatch(/^\{"create":\{"_id":"sha256:[0-9a-f]{64}"\}\}/)
  })
})

describe('a body with groups', () => {
  const at = { time: '2025-11-20T09:00:00.5Z', timeMs: 1_763_629_200_500 }
  const mixed = [
    ...buildEvents(2),
    buildEvent({ id: 'other', zone: { id: 7, name: '' }, ...at }),
    buildEvent({ id: 'last' }),
  ]
  const bodyOf = (given: object) => {
    const { layout, piece } = presetWith(given)
    const pieces = mixed.map((each) => pieceOf(each, piece(each, `{"id":"${each.id}"}`), layout))
    return JSON.parse(joinPieces(pieces, layout).toString()) as object
  }

  it('has a stream of Loki per action and hour, with nanoseconds and metadata', () => {
    const labels = { job: 'waf', action: 'Blocked' }
    const metadata = {
      shield_zone: '7',
      severity: 'critical',
      log_id: 'other',
      rule_id: '930130',
      asn: '48090',
    }
    expect(bodyOf(loki)).toMatchObject({
      streams: [
        { stream: { ...labels, hour: '2025-11-20T10' }, values: [{}, {}, {}] },
        {
          stream: { ...labels, hour: '2025-11-20T09' },
          values: [['1763629200500000000', '{"id":"other"}', metadata]],
        },
      ],
    })
  })

  it('has no metadata for Loki where structuredMetadata is false', () => {
    const without = presetWith({ ...loki, structuredMetadata: false })
    expect(JSON.parse(without.piece(event, '{}'))).toHaveLength(2)
    expect(without.layout.group!(event).before).toContain('"shield_zone":"101","severity":"critical"')
  })

  it('has so few streams of Loki that a first start of three days stays below its limit, with any number of zones', () => {
    const { group } = presetWith(loki).layout
    const streams = new Set<string>()
    const actions = ['Blocked', 'Logged', 'Challenged', 'Allowed', 'Bypassed', 'RateLimited', undefined]
    for (let zone = 1; zone <= 300; zone++)
      for (let hour = 0; hour < 72; hour++)
        for (const [nth, action] of actions.entries()) {
          const timeMs = 1_763_596_800_000 + hour * 3_600_000 + zone
          const severity = ['notice', 'warning', 'error', 'critical'][(zone + nth) % 4]!
          const about = {
            zone: { id: zone, name: `z${zone}` },
            severity,
            timeMs,
            time: new Date(timeMs).toISOString(),
          }
          streams.add(group!({ ...event, ...about, action: action! }).before)
        }
    expect(streams.size).toBe(72 * actions.length)
  })

  it('has a resource of OTLP per zone', () => {
    const { resourceLogs } = bodyOf(otlp) as { resourceLogs: { scopeLogs: { logRecords: object[] }[] }[] }
    expect(resourceLogs.map(({ scopeLogs }) => scopeLogs[0]!.logRecords.length)).toEqual([3, 1])
  })

  it('has the size that was counted', () => {
    for (const layout of [presetWith(loki).layout, arrayLayout, lineLayout]) {
      const own = mixed.map((each) => pieceOf(each, `{"id":"${each.id}"}`, layout))
      const size = bodySize(layout)
      for (const [index, piece] of own.entries())
        expect(size(piece)).toBe(joinPieces(own.slice(0, index + 1), layout).length)
    }
  })
})

describe('a signature', () => {
  const plain = { preset: 'ndjson', url: 'https://siem.example' }

  it('needs a key', () => {
    expect(() => presetWith({ ...plain, signature: {} })).toThrow('is missing')
    expect(() => presetWith({ ...plain, signature: { secret } })).not.toThrow()
  })

  it('is refused in a header that is set by others', () => {
    const signedIn = (header: string) =>
      presetWith({ ...plain, headers: { 'X-Own': secret }, signature: { header, secret } })
    for (const header of ['content-length', 'Idempotency-Key', 'Via', 'Forwarded', 'Proxy-Authenticate'])
      expect(() => signedIn(header), header).toThrow('is a header that the sink sets or that proxies read')
    for (const header of ['x-own', 'User-Agent']) expect(() => signedIn(header)).toThrow('is given twice')
    expect(() => signedIn('X-Hub-Signature')).not.toThrow()
  })
})
