import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, it } from 'vitest'
import { createOtlpFormat } from '../../src/formats/otlp.ts'
import { entry } from '../shield/samples.ts'
import { json } from './authorities.ts'
import { eventOf, long, shapes } from './shapes.ts'

const otlp = createOtlpFormat()
const everything = createOtlpFormat({ labels: true, log: true })
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(
  json('otlp-log-record.json') as object,
)

interface LogRecord {
  readonly timeUnixNano?: string
  readonly severityNumber: number
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
}

function record(line: string): LogRecord {
  return JSON.parse(line) as LogRecord
}

it.each([...shapes, ['values of 64 kB', long] as const])(
  'fits the message LogRecord of OTLP: %s',
  (_, event) => {
    for (const { encode } of [otlp, everything])
      expect(validate(record(encode(event))), JSON.stringify(validate.errors)).toBe(true)
  },
)

it('names each attribute once', () => {
  for (const [, event] of shapes) {
    const keys = record(everything.encode(event)).attributes.map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
  }
})

it('writes nanoseconds above the largest exact number of JSON, and reads them back', () => {
  const event = eventOf(entry({ timestamp: '1763640000123456789' }))
  const line = otlp.encode(event)
  expect(record(line).timeUnixNano).toBe('1763640000123456789')
  expect(otlp.identify(line)).toEqual({ id: event.id, time: '2025-11-20T12:00:00.123456789Z' })
})

it('keeps the text of a time that nanoseconds cannot represent', () => {
  for (const timestamp of ['1763640000120000', '1950-01-01T00:00:00Z', '9999-12-31T23:59:59Z']) {
    const event = eventOf(entry({ timestamp }))
    expect(otlp.identify(otlp.encode(event))).toEqual({ id: event.id, time: event.time })
  }
})

it('writes values that nest deeper than collectors accept as JSON text', () => {
  const nested = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) as never
  const line = everything.encode(eventOf(entry({ log: nested })))
  expect(validate(record(line)), JSON.stringify(validate.errors)).toBe(true)
  let [depth, deepest] = [0, 0]
  for (const [bracket] of line.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').matchAll(/[{}[\]]/g)) {
    depth += '{['.includes(bracket) ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  expect(deepest).toBeLessThan(60)
})
