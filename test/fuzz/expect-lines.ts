import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import { nativeSchema } from '../../src/formats/native-schema.ts'
import { formats } from '../../src/formats/registry.ts'

const made = Object.entries(formats).map(([name, make]) => ({ name, format: make() }))
const isNative = new Ajv2020({ strict: true }).compile(nativeSchema)

/** Their schemas require a time. */
const needTime = new Set(['ecs', 'ocsf'])

/** What holds of the line of any event in any format, whatever the API sent. */
export function expectLines(event: Event, zone: number): void {
  expect(event.id).not.toBe('')
  expect(event.zone.id).toBe(zone)
  for (const { name, format } of made) {
    if (event.time === undefined && needTime.has(name)) {
      expect(() => format.encode(event), name).toThrow('no time')
      continue
    }
    const line = format.encode(event)
    expect(line, name).not.toMatch(/[\n\r]/)
    expect(Buffer.from(line).toString(), name).toBe(line)
    const read: unknown = name === 'cef' ? {} : JSON.parse(line)
    expect(read, name).toBeTypeOf('object')
    if (name === 'native') expect(isNative(read), JSON.stringify(isNative.errors)).toBe(true)
    // By this a part of a lost store is compared, and by nothing else.
    expect(fingerprintOf(format.identify(line)!), name).toBe(event.fingerprint)
    expect(format.encode(event), name).toBe(line)
  }
}
