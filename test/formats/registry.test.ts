import { expect, test } from 'vitest'
import { createFormat, encodeOnce, type FormatName, keyOfLines } from '../../src/formats/registry.ts'
import { HttpSinkConfig } from '../../src/sinks/http/config.ts'
import { createPreset } from '../../src/sinks/http/presets/registry.ts'
import { buildEvent } from './events.ts'

const event = buildEvent({ raw: { logId: 'x', labels: {}, log: '{}' } })
const set = { env: 'prod', 'data_stream.namespace': 'edge' }

test.each<[FormatName, string[]]>([
  ['native', ['"set":{"env":"prod","data_stream.namespace":"edge"}']],
  ['raw', ['"shieldlogSet":{"env":"prod","data_stream.namespace":"edge"}']],
  ['ecs', ['"labels":{"env":"prod"}', '"data_stream":{"namespace":"edge"}']],
  ['ocsf', ['"unmapped":{"env":"prod","data_stream.namespace":"edge",']],
  ['otlp', ['{"key":"env","value":{"stringValue":"prod"}}']],
  ['cef', [' BunnyShield_env=prod BunnyShield_data_stream_namespace=edge']],
])(
  'constants of a sink have their place in %s, and change neither identity nor what is read back',
  (format, texts) => {
    const [plain, constant] = [createFormat({ format }), createFormat({ format, set })]
    const line = constant.encode(event)
    for (const text of texts) expect(line).toContain(text)
    expect(plain.identify(line)).toEqual(plain.identify(plain.encode(event)))
    expect(plain.identify(line)).toEqual({ id: event.id, time: event.time })
    expect(plain.readBack?.(line)).toEqual(plain.readBack?.(plain.encode(event)))
  },
)

test('sinks with different constants do not share lines, except where these are beside the line', () => {
  const key = (env: string, preset?: string) => keyOfLines({ format: 'native', set: { env }, preset })
  expect(key('a')).not.toBe(key('b'))
  expect(key('a', 'loki')).toBe(key('b', 'loki'))
})

test('an index gets labels and log in the format native only where they are included, since it gives them types', () => {
  const odd = buildEvent({ other: { unknown: 1 } })
  const parts = (form: object) =>
    Object.keys(JSON.parse(createFormat({ format: 'native', ...form }).encode(odd)) as object).filter((key) =>
      ['labels', 'log', 'other'].includes(key),
    )
  expect(parts({ preset: 'elasticsearch' })).toEqual([])
  expect(parts({ preset: 'elasticsearch', include: { log: true } })).toEqual(['other', 'log'])
  expect(parts({ preset: 'ndjson' })).toEqual(['other', 'labels', 'log'])
})

const url = 'https://siem.example'
test.each([
  ['loki', '"env":"prod","data_stream_namespace":"edge"'],
  ['otlp', '{"key":"env","value":{"stringValue":"prod"}}'],
])('preset %s has constants beside the line', (preset, text) => {
  const settings = HttpSinkConfig.parse({ type: 'http', name: 'siem', preset, url, set })
  const { layout } = createPreset(settings, createFormat(settings))
  expect(layout.group!(event).before).toContain(text)
})

test.each([
  ['loki', {}, { action: 'y' }],
  ['ndjson', {}, { Env: 'y' }],
  ['ndjson', {}, { env: 'a,b' }],
  ['ndjson', {}, { env: '' }],
  ['ndjson', {}, Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, 'y']))],
])('preset %s with %j refuses the constants %j', (preset, more, constants) => {
  const parsed = HttpSinkConfig.safeParse({
    type: 'http',
    name: 'siem',
    preset,
    url,
    ...more,
    set: constants,
  })
  expect(parsed.error?.issues.map(({ path }) => path[0])).toContain('set')
})

test('a line is made once for the sinks that share a format, and not kept once the last of them has it', () => {
  const native = createFormat({ format: 'native' })
  let made = 0
  const counted = {
    ...native,
    encode: (event: Parameters<typeof native.encode>[0]) => (made++, native.encode(event)),
  }
  const format = encodeOnce(counted, 3)
  const other = buildEvent({ id: 'y' })
  const lines = [event, event, other, event].map((each) => format.encode(each))
  expect(lines).toEqual([event, event, other, event].map((each) => native.encode(each)))
  expect(made).toBe(2)
  format.encode(event)
  expect(made).toBe(3)
})
