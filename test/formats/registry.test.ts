import { describe, expect, test } from 'vitest'
import { formats, type FormatName } from '../../src/formats/registry.ts'
import { buildEvent } from './events.ts'

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
  const line = format.encode(event)

  test('is registered under its name, and identifies its lines', () => {
    expect(format.name).toBe(name)
    expect(format.identify(line)).toEqual({ id: event.id, time: event.time })
  })

  const others = names.filter((other) => other !== name).map((other) => formats[other]().encode(event))
  test.each([...others, ...foreign[name], line.slice(1), '', '{', '{}'])('refuses %j', (other) => {
    expect(format.identify(other)).toBeUndefined()
  })
})
