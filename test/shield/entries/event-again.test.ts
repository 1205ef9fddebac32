import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/domain/text/json.ts'
import { restoreEvent, storeEvent } from '../../../src/domain/event/stored-event.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import { createRawFormat } from '../../../src/formats/raw.ts'
import { eventAgain } from '../../../src/shield/entries/stored-event.ts'
import { createRedactor, type Redaction } from '../../../src/shield/redaction/redact.ts'
import { toEvent } from '../../../src/shield/entries/to-event.ts'

const zone = { id: 101, name: 'shop' }
const strict: Redaction = {
  headers: ['cookie', 'authorization'],
  query: ['token'],
  body: 'drop',
  addresses: 'mask',
}
const redactions: readonly Redaction[] = ['off', strict, { ...strict, addresses: 'drop' }]
const formats = [createNativeFormat(), createRawFormat()]

const log = fc.record(
  {
    Message: fc.string(),
    Url: fc.constantFrom('https://x.example/?token=s3cr3t-s3cr3t&a=1', 'https://x.example/'),
    RemoteIp: fc.constantFrom('203.0.113.7', '2001:db8::1', '1.2.3.*', 'unknown'),
    UrlEncodedBody: fc.constantFrom(null, 'password=hunter2hunter2'),
    Headers: fc.constantFrom(
      [],
      [{ Name: 'Cookie', Value: 'session=abcdefgh' }],
      ['Authorization: Bearer abcdefgh'],
    ),
  },
  { requiredKeys: [] },
)
const entry: fc.Arbitrary<Json> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      {
        logId: fc.oneof(fc.uuid(), fc.constant('')),
        timestamp: fc.constantFrom(1_795_132_800_000, 1_795_132_800, 'soon'),
        labels: fc.record({ status: fc.constantFrom('Blocked', '403'), asn: fc.constant('64500') }),
        log: fc.oneof(
          log.map((each) => JSON.stringify(each)),
          log,
          fc.string(),
          fc.constant(null),
        ),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: fc.string() },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ text: 'x' }, {}, [1], null, {
      text: 'x',
      log: { text: 'x' },
    }),
  },
)

describe('a stored event', () => {
  it('gives the same line as when it was refused, with the same redaction', () => {
    fc.assert(
      fc.property(entry, fc.constantFrom(...redactions), (received, redaction) => {
        const redactor = createRedactor(redaction)
        const first = toEvent(received, zone, redactor)
        const again = eventAgain(restoreEvent(storeEvent(first)), zone, redactor)
        expect([again.id, again.time, again.timeMs, again.fingerprint]).toEqual([
          first.id,
          first.time,
          first.timeMs,
          first.fingerprint,
        ])
        for (const format of formats) expect(format.encode(again)).toBe(format.encode(first))
      }),
    )
  })

  it('is redacted as configured now, and keeps its id', () => {
    fc.assert(
      fc.property(entry, (received) => {
        const kept = restoreEvent(storeEvent(toEvent(received, zone, createRedactor('off'))))
        const again = eventAgain(kept, zone, createRedactor(strict))
        const now = toEvent(received, zone, createRedactor(strict))
        for (const format of formats) expect(format.encode(again)).toBe(format.encode(now))
      }),
    )
  })
})
