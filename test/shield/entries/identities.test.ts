import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactJson } from '../../../src/domain/text/decode.ts'
import type { Json } from '../../../src/domain/text/json.ts'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import { eventsOf } from '../../../src/shield/entries/to-event.ts'
import { entryTimeOf, identityOf, identitiesOf, type OwnIds } from '../../../src/shield/entries/identities.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'

const exact = (source: string) => (exactJson(`[${source}]`) as Json[])[0]
const zone = { id: 101, name: 'shop' }
const redactor = createRedactor('off')
const entry = (id: string, content: string, timestamp = 1_790_000_000_000) => ({
  logId: id,
  timestamp,
  log: content,
})

// Few of each, so that they meet.
const anyEntry = fc
  .tuple(
    fc.constantFrom('a', 'b', 'c'),
    fc.constantFrom('x', 'y', 'z'),
    fc.constantFrom(1_790_000_000_000, 1),
  )
  .map(([id, content, timestamp]) => entry(id, content, timestamp))
const anyPage = fc.array(anyEntry, { maxLength: 12 })

describe('the identities of a page', () => {
  it('tell different entries apart, and take equal ones for one, whatever the page holds in whatever order', () => {
    fc.assert(
      fc.property(anyPage, fc.infiniteStream(fc.nat()), (page, order) => {
        const shuffled = page
          .map((each) => ({ each, at: order.next().value ?? 0 }))
          .toSorted((one, other) => one.at - other.at)
          .map(({ each }) => each)
        const fingerprints = new Map<string, bigint>()
        for (const entries of [page, shuffled]) {
          const { identities } = identitiesOf(entries)
          for (const [index, { id, time, fingerprint }] of identities.entries()) {
            const text = JSON.stringify(entries[index])
            expect(fingerprints.get(text) ?? fingerprint).toBe(fingerprint)
            fingerprints.set(text, fingerprint)
            expect(fingerprint).toBe(fingerprintOf(time === undefined ? { id } : { id, time }))
          }
        }
        expect(new Set(fingerprints.values()).size).toBe(fingerprints.size)
      }),
    )
  })

  it('are those of the entries alone where none shares id and time with another one', () => {
    const page = [entry('a', 'x'), entry('b', 'x'), entry('a', 'x'), entry('a', 'x', 1)]
    expect(identitiesOf(page).identities).toEqual(page.map((each) => identityOf(each)))
    const reordered = { log: 'x', timestamp: 1_790_000_000_000, logId: 'a' }
    expect(identitiesOf([entry('a', 'x'), reordered]).identities.map(({ id }) => id)).toEqual(['a', 'a'])
  })

  it('give an own id also where the end of the page before has the other entry', () => {
    const first = identitiesOf([entry('b', 'x', 5), entry('c', 'y'), entry('a', 'x')])
    const read = (page: readonly Json[], before?: OwnIds) =>
      identitiesOf(page, before).identities.map(({ id }) => id)
    expect(read([entry('a', 'y'), entry('b', 'y', 5)], first.end())).toEqual([
      expect.stringMatching(/^a~[\da-f]{16}$/),
      'b',
    ])
    expect(read([entry('a', 'x'), entry('c', 'y')], first.end())).toEqual(['a', 'c'])
    const afterEmpty = identitiesOf([], first.end()).end()
    expect(read([entry('a', 'y')], afterEmpty)).toEqual([expect.stringMatching(/^a~/)])
    const both = identitiesOf([entry('a', 'x'), entry('a', 'y')])
    expect(read([entry('a', 'y')], both.end())).toEqual([both.identities[1]!.id])
  })

  it('keep no more than some entries of a page for the next one, and not their content', () => {
    const page = Array.from({ length: 5_000 }, (_, index) => entry(`e${index}`, 'x'.repeat(1_000)))
    const end = identitiesOf(page).end()
    expect(end.size).toBe(100)
    expect([...end.values()].flatMap((ids) => [...ids].map((id) => id.length))).toEqual(
      Array.from({ length: 100 }, () => 'e4999~'.length + 16),
    )
  })

  it('name an event under the other form of its id too', () => {
    const alone = [entry('a', 'x'), entry('a', 'y')].map((each) => eventsOf([each], zone, redactor)[0]!)
    const together = eventsOf([entry('a', 'y'), entry('a', 'x')], zone, redactor).toReversed()
    for (const [index, event] of together.entries()) {
      expect(event).toMatchObject({ hasOwnId: true, id: expect.stringMatching(/^a~/) })
      expect(event.otherFingerprint?.()).toBe(alone[index]!.fingerprint)
      expect(alone[index]!.otherFingerprint?.()).toBe(event.fingerprint)
      expect(alone[index]!.hasOwnId).toBe(false)
      expect(event.raw()).toMatchObject({ logId: 'a' })
    }
  })
})

describe('the time of an entry', () => {
  it.each([
    [1_763_640_000, '2025-11-20T12:00:00.000Z'],
    [1_763_640_000.5, '2025-11-20T12:00:00.500Z'],
    [1_763_640_000_123, '2025-11-20T12:00:00.123Z'],
    [1_763_640_000_123.9, '2025-11-20T12:00:00.123900Z'],
    [1_763_640_000_123_456, '2025-11-20T12:00:00.123456Z'],
    [exact('1763640000123456789'), '2025-11-20T12:00:00.123456789Z'],
    [exact('1.763640000123E12'), '2025-11-20T12:00:00.123Z'],
    [exact('1763640000.50'), '2025-11-20T12:00:00.500Z'],
    ['1763640000', '2025-11-20T12:00:00.000Z'],
    ['1763640000.25', '2025-11-20T12:00:00.250Z'],
    [' 1763640000123 ', '2025-11-20T12:00:00.123Z'],
    ['1763640000123456', '2025-11-20T12:00:00.123456Z'],
    ['1763640000123456789', '2025-11-20T12:00:00.123456789Z'],
    ['99999999999999999999', '5138-11-16T09:46:39.999999999Z'],
    ['2025-11-20T12:00:00Z', '2025-11-20T12:00:00.000Z'],
    ['2025-11-20T14:00:00.5+02:00', '2025-11-20T12:00:00.500Z'],
    ['2025-11-20T12:00:00.1234567Z', '2025-11-20T12:00:00.123456700Z'],
    ['2025-11-20T12:00:00.123456789012Z', '2025-11-20T12:00:00.123456789Z'],
    ['2025-11-20T12:00:00.1234', '2025-11-20T12:00:00.123400Z'],
    ['2025-11-20T12:00', '2025-11-20T12:00:00.000Z'],
    ['2025-11-20 12:00:00', '2025-11-20T12:00:00.000Z'],
    ['2025-11-20 12:00:00,5 UTC', '2025-11-20T12:00:00.500Z'],
    ['2025-11-20 14:00:00 +0200', '2025-11-20T12:00:00.000Z'],
    ['2025-11-20t12:00:00.25z', '2025-11-20T12:00:00.250Z'],
    ['2025-11-20T05:00:00-07', '2025-11-20T12:00:00.000Z'],
    ['/Date(1763640000123)/', '2025-11-20T12:00:00.123Z'],
    ['/Date(1763640000123+0100)/', '2025-11-20T12:00:00.123Z'],
    ['2025-11-20T23:59:60Z', '2025-11-21T00:00:00.000Z'],
    ['2025-11-20T23:59:60.5', '2025-11-21T00:00:00.500Z'],
  ])('%j', (timestamp, time) => expect(entryTimeOf(timestamp)?.time).toBe(time))

  it('is none of anything else', () => {
    const numbers = [0, -1, 1e7, 1e20, 1e300, NaN, Infinity]
    const texts = ['', 'soon', '12', '-5', '100000000000000000000', '099999999', '/Date(x)/', '2025-11-20']
    texts.push('2025-02-29T12:00:00Z', '2025-02-30 12:00', '2025-04-31T12:00:00+01:00', '2025-01-32T12:00')
    texts.push('2025-13-20T12:00:00Z', '2025-11-20T12:61', '9999-12-31T23:59:60Z', '0000-01-01T00:00+01:00')
    for (const timestamp of [...numbers, ...texts, null, true, {}, []])
      expect(entryTimeOf(timestamp)).toBeUndefined()
  })

  it.each([
    ['1763640000123', '1763640000123.75', '1763640000.123', '"1763640000123456"', '1763640000123456789'],
    ['"2025-11-20T12:00:00.123Z"', '"2025-11-20T12:00:00.1230000"', '"2025-11-20 13:00:00.123999+01:00"'],
  ])('makes the same event with and without digits beyond the millisecond: %s, %s …', (...timestamps) => {
    const fingerprints = timestamps.map(
      (each) => identityOf(exactJson(`{"logId":"a","timestamp":${each}}`)!).fingerprint,
    )
    expect(
      new Set([fingerprintOf({ id: 'a', time: '2025-11-20T12:00:00.123Z' }), ...fingerprints]).size,
    ).toBe(1)
  })

  it('is the same instant in any unit', () => {
    const seconds = fc.integer({ min: 1e8, max: 99_999_999_999 })
    fc.assert(
      fc.property(seconds, fc.nat({ max: 999_999_999 }), (whole, nanos) => {
        const timeMs = whole * 1000 + Math.floor(nanos / 1e6)
        const digits = `${whole}${String(nanos).padStart(9, '0')}`
        expect(entryTimeOf(whole)?.timeMs).toBe(whole * 1000)
        expect(entryTimeOf(timeMs)?.timeMs).toBe(timeMs)
        expect(entryTimeOf(digits.slice(0, -3))?.timeMs).toBe(timeMs)
        expect(entryTimeOf(digits)?.timeMs).toBe(timeMs)
        expect(entryTimeOf(digits)?.time.endsWith(`${digits.slice(-9)}Z`)).toBe(true)
        for (const read of [whole, timeMs, digits].map(entryTimeOf))
          expect(Date.parse(read?.time ?? '')).toBe(read?.timeMs)
      }),
    )
  })
})
