import { describe, expect, it, test } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { exactJson } from '../../src/domain/text/decode.ts'
import type { JsonObject } from '../../src/domain/text/json.ts'
import { formats, type FormatName } from '../../src/formats/registry.ts'
import { buildEvent } from './events.ts'
import { shapes } from './shapes.ts'

const event = buildEvent()
const names = Object.keys(formats) as FormatName[]
const cef = 'CEF:0|bunny.net|Bunny Shield|'
/** Besides the lines of the other formats. */
const foreign: Readonly<Record<FormatName, readonly string[]>> = {
  native: ['{"v":2,"id":"x"}', '{"v":1,"id":1}', 'null', '"v"', '[]'],
  raw: ['{"logId":"x"}', '[]', '{"shieldZoneId":1,"logId":""}'],
  ecs: [formats.ecs().encode(event).replace('bunny_shield.event', 'other')],
  ocsf: [formats.ocsf().encode(event).replaceAll('Bunny Shield', 'other'), '{"class_uid":4002}'],
  otlp: ['{"eventName":"bunny.shield.event","attributes":[null,{"key":1}]}'],
  cef: ['CEF:0|a|b|c|d|e|1|act=x', cef, `${cef}1|a|b|1|act=x`, `${cef}1|a|b|1|BunnyShieldId=%`],
}

describe.each(names)('%s', (name) => {
  const format = formats[name]()
  const whole = formats[name]({ labels: true, log: true, raw: true })
  const line = format.encode(event)

  it('is registered under its name, and identifies its lines', () => {
    expect(format.name).toBe(name)
    expect(format.identify(line)).toEqual({ id: event.id, time: event.time })
  })

  const others = names.filter((other) => other !== name).map((other) => formats[other]().encode(event))
  it.each([...others, ...foreign[name], line.slice(1), '', '{', '{}'])('refuses %j', (other) => {
    expect(format.identify(other)).toBeUndefined()
  })

  it('equals the reviewed lines for every shape of an entry', async () => {
    const texts = shapes.map(([shape, each]) => `# ${shape}\n${shown(format.encode, each)}\n`)
    texts.push(`# with labels, log and raw\n${shown(whole.encode, shapes[0]![1])}\n`)
    await expect(texts.join('\n')).toMatchFileSnapshot(`../fixtures/formats/${name}.golden`)
  })
})

/** JSON with a member on each line, for a reader; any other line as it is. */
function shown(encode: (event: Event) => string, event: Event): string {
  try {
    const line = encode(event)
    return line.startsWith('{') ? JSON.stringify(exactJson(line), null, 2) : line
  } catch (error) {
    return `no line: ${(error as Error).message}`
  }
}

const known = { timestamp: 1_763_633_472_123, logId: 'x', labels: { b: '', a: null }, log: '{"Url":1}' }
const added = '"shieldlogId":"sha256:ab","shieldlogTime":"2025-11-20T10:11:12.123Z"'

test.each<[string, id: string, time: string, raw: JsonObject, line: string]>([
  ['is the entry and the zone', 'x', event.time!, known, JSON.stringify(known)],
  [
    'adds nothing for whole seconds',
    'x',
    '2025-11-20T10:11:12.000Z',
    { logId: 'x', timestamp: 1_763_633_472 },
    '{"logId":"x","timestamp":1763633472}',
  ],
  [
    'adds id and time that the entry does not tell',
    'sha256:ab',
    event.time!,
    { log: 'plain' },
    `{"log":"plain"}`,
  ],
  [
    'keeps keys that name a prototype as data',
    'x',
    event.time!,
    { ...(JSON.parse('{"logId":"x","timestamp":1763633472123,"__proto__":{"logId":"y"}}') as JsonObject) },
    '{"logId":"x","timestamp":1763633472123,"__proto__":{"logId":"y"}}',
  ],
])('a raw line %s', (_what, id, time, raw, entry) => {
  const line = formats.raw().encode(buildEvent({ id, time, raw }))
  const own = id === 'x' ? '' : `,${added}`
  expect(line).toBe(`${entry.slice(0, -1)},"shieldZoneId":101${own}}`)
  expect(formats.raw().identify(line)).toEqual({ id, time })
})
