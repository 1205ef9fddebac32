import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { jsonText, type Json } from '../../src/domain/text/json.ts'
import { formats, type FormatName } from '../../src/formats/registry.ts'
import { eventsOf } from '../../src/shield/entries/to-event.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { defaults, entry, zone } from '../shield/samples.ts'
import { expectLines, expectRows } from './expect-lines.ts'
import { expectWhole } from './expect-whole.ts'
import { mutated, runsOf } from './mutated.ts'
import { withNumbers } from './with-numbers.ts'
import { binaryText } from '../setup/binary-text.ts'

const strict = { ...defaults, query: ['q', 'a'], addresses: 'mask' } as const
const redactors = ['off', defaults, strict] as const

/** Texts that mean something to somebody on the way. */
const text = fc.oneof(
  binaryText(),
  fc.json(),
  fc.constantFrom(
    ...'__proto__ constructor toString {"a": NaN 1e400 [redacted] sha256:0 2025-11-20T12:00:00Z'.split(' '),
    '\ud800',
    'a\udfffb',
    '\\\ud800',
    '\\ud800',
    '\u2028',
    '\ufeff',
    '\ufeffa',
    '\u0085',
    '\0',
    '\u007f\u009b31m',
    '9'.repeat(400),
    '#1e400#',
    '#-0#',
    '#1.0#',
    '#12345678901234567890#',
    '#1795893600123456789#',
    '#1795893600.50#',
    'x'.repeat(70_000),
    // What has a meaning in CEF.
    'a|b',
    ' c=d ',
    '\\n',
    'line\nbreak\r',
  ),
)
/** As it is read: with keys of its own that are named like a prototype's, and numbers that JavaScript does not write. */
const anything = fc
  .letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.constantFrom(null, true, false, 0, -0, 1e300, -1, 2 ** 53, 1_763_640_000, 1_763_640_000_123_456),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  }))
  .value.map(withNumbers)

const whole = fc.record(
  {
    logId: fc.oneof(anything, fc.uuid()),
    timestamp: fc.oneof(
      anything,
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, -1)),
    ),
    log: fc.oneof(
      anything,
      anything.map((value) => JSON.stringify(value)),
      mutated(JSON.stringify(entry()['log'])).map((bytes) => bytes.toString()),
    ),
    labels: fc.oneof(
      anything,
      fc.record(
        {
          status: anything,
          serverZone: text,
          ruleGroup: text,
          method: text,
          asn: anything,
          severity: anything,
          country: anything,
          ruleId: anything,
        },
        { requiredKeys: [] },
      ),
    ),
    // Keys that a line in raw format has of its own.
    shieldZoneId: anything,
    shieldlogId: anything,
    shieldlogTime: anything,
  },
  { requiredKeys: [] },
)
const entries: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: whole },
  { weight: 1, arbitrary: anything },
)

/** A file takes longer to begin than an event in it. */
const eventsInFile = 1_000

test('any entries have lines and rows in every format, and the same identity with any redaction', async () => {
  const inFile: Event[] = []
  await fc.assert(
    fc.asyncProperty(fc.array(entries, { minLength: 1, maxLength: 4 }), async (page) => {
      const before = jsonText(page)
      const identities = redactors.map((redaction) => {
        const events = eventsOf(page, zone, createRedactor(redaction))
        for (const event of events) expectLines(event, zone.id)
        inFile.push(...events)
        if (redaction === 'off')
          for (const [index, event] of events.entries()) expectWhole(page[index]!, event)
        return events.map(({ id, time, fingerprint }) => [id, time, fingerprint])
      })
      expect(identities[1]).toEqual(identities[0])
      expect(identities[2]).toEqual(identities[0])
      expect(jsonText(page)).toBe(before)
      if (inFile.length > eventsInFile) await expectRows(inFile.splice(0))
    }),
    { numRuns: runsOf(150) },
  )
  await expectRows(inFile)
})

test.for(Object.keys(formats) as FormatName[])(
  'any bytes instead of a line in %s are a line or none',
  (name) => {
    const format = formats[name]()
    const [event] = eventsOf([entry()], zone, createRedactor('off'))
    fc.assert(
      fc.property(mutated(format.encode(event!)), (bytes) => {
        const found = format.identify(bytes.toString('utf8'))
        if (found === undefined) return
        expect(found.id).toBeTypeOf('string')
        expect(found.id).not.toBe('')
        expect(['string', 'undefined']).toContain(typeof found.time)
      }),
      { numRuns: runsOf(300) },
    )
  },
)
