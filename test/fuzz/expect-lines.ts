import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import { nativeSchema } from '../../src/formats/native-schema.ts'
import { formats } from '../../src/formats/registry.ts'
import { linesIn, writeParquet } from '../sinks/objects/parquet-file.ts'

const everything = { labels: true, log: true, raw: true }
const made = Object.entries(formats).flatMap(([name, make]) => [
  { name, format: make() },
  { name, format: make(everything) },
])
const nativeKeys = Object.keys(nativeSchema.properties)
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
    expect(line, name).not.toMatch(/[\n\r\u0085\u2028\u2029]/)
    // No half characters, written out or as an escape.
    expect(Buffer.from(line).toString(), name).toBe(line)
    expect(line, name).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/i)
    const read = (name === 'cef' ? {} : JSON.parse(line)) as object
    expect(read, name).toBeTypeOf('object')
    if (name === 'native') {
      expect(isNative(read), JSON.stringify(isNative.errors)).toBe(true)
      expect(Object.keys(read)).toEqual(nativeKeys.filter((key) => Object.hasOwn(read, key)))
    }
    // By this a part of a lost store is compared, and by nothing else.
    expect(fingerprintOf(format.identify(line)!), name).toBe(event.fingerprint)
    expect(format.encode(event), name).toBe(line)
  }
}

/** The same of their rows in Parquet: they stand for these lines. */
export async function expectRows(events: readonly Event[]): Promise<void> {
  for (const { name, format } of made) {
    if (format.table === undefined) continue
    const rows = events.filter(({ time }) => time !== undefined || !needTime.has(name))
    expect(await linesIn(await writeParquet(format.table, rows)), name).toEqual(
      rows.map((event) => format.encode(event)),
    )
  }
}
