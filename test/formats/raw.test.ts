import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import { createRawFormat } from '../../src/formats/raw.ts'
import { anyEvent, buildEvent } from './events.ts'

const raw = createRawFormat()

it('is the entry as received and the zone', () => {
  const known = { timestamp: 1_763_633_472_123, logId: 'x', labels: { b: '', a: null }, log: '{"Url":1}' }
  const entry = { ...known, extra: [1] }
  const line = raw.encode(buildEvent({ id: 'x', raw: entry }))
  expect(line).toBe(`${JSON.stringify(entry).slice(0, -1)},"shieldZoneId":101}`)
})

it('adds nothing for whole seconds', () => {
  const whole = { logId: 'x', timestamp: 1_763_633_472 }
  const event = buildEvent({ id: 'x', time: '2025-11-20T10:11:12.000Z', raw: whole })
  expect(raw.encode(event)).toBe('{"logId":"x","timestamp":1763633472,"shieldZoneId":101}')
})

it('adds id and time if they cannot be derived from the entry', () => {
  const event = buildEvent({ id: 'sha256:ab', raw: { log: 'plain' } })
  expect(raw.encode(event)).toBe(
    '{"log":"plain","shieldZoneId":101,"shieldlogId":"sha256:ab","shieldlogTime":"2025-11-20T10:11:12.123Z"}',
  )
  expect(raw.identify(raw.encode(event))).toEqual({ id: 'sha256:ab', time: '2025-11-20T10:11:12.123Z' })
})

it('reads back the identity of any event, however hostile its entry', () => {
  fc.assert(
    fc.property(anyEvent, (event) => {
      const line = raw.encode(event)
      expect(line).not.toMatch(/[\n\r]/)
      expect(Buffer.from(line).toString()).toBe(line)
      expect(fingerprintOf(raw.identify(line)!)).toBe(event.fingerprint)
      expect(JSON.parse(line)).toMatchObject({ shieldZoneId: event.zone.id })
    }),
    { numRuns: 200 },
  )
})

it('keeps keys that name a prototype as data', () => {
  const entry = JSON.parse('{"logId":"x","timestamp":1763633472123,"__proto__":{"logId":"y"}}') as object
  expect(raw.encode(buildEvent({ id: 'x', raw: { ...entry } }))).toContain('"__proto__":{"logId":"y"}')
})
