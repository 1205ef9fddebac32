import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs, httpDateOf, retryAfterMsOf } from '../../src/transport/retry.ts'

const hour = 3_600_000
const instant = Date.parse('1994-11-06T08:49:37Z')

it('dates in headers are read in their three forms, and nothing else is', () => {
  const forms = [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ]
  expect(forms.map(httpDateOf)).toEqual([instant, instant, instant])
  const others = ['Sun, 99 Nov 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:37 CET']
  for (const text of ['', 'now', '0', '1994-11-06', ...others]) expect(httpDateOf(text)).toBeUndefined()
  fc.assert(fc.property(fc.string(), (text) => !Number.isNaN(httpDateOf(text) ?? 0)))
})

describe('Retry-After', () => {
  it.each([
    ['5', 5000],
    [' 0 ', 0],
    ['1.5', 1500],
    ['999999999999999999999999', 60_000],
    ['Sun, 06 Nov 1994 08:49:47 GMT', 10_000],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['Sun, 06 Nov 2094 08:00:00 GMT', 60_000],
  ])('reads %j', (retryAfter, expected) => {
    const date = new Date(instant).toUTCString()
    const headers = { 'retry-after': retryAfter, date }
    expect(retryAfterMsOf({ headers }, instant + hour, 60_000)).toBe(expected)
    expect(retryAfterMsOf({ headers }, instant - hour, 60_000)).toBe(expected)
    expect(retryAfterMsOf({ headers: { 'retry-after': retryAfter } }, instant, 60_000)).toBe(expected)
  })

  it.each([undefined, '', 'soon', '-5', '0x10', '1e9', 'NaN', 'Infinity'])('ignores %j', (retryAfter) =>
    expect(retryAfterMsOf({ headers: { 'retry-after': retryAfter } }, instant, 60_000)).toBeUndefined(),
  )

  it('is always between 0 and the limit', () => {
    const headers = fc.oneof(
      fc.string(),
      fc.nat().map(String),
      fc.date().map((date) => date.toUTCString()),
    )
    fc.assert(
      fc.property(headers, fc.nat({ max: 1e9 }), (text, maxMs) => {
        const waitMs = retryAfterMsOf({ headers: { 'retry-after': text } }, instant, maxMs)
        expect(waitMs === undefined || (waitMs >= 0 && waitMs <= maxMs)).toBe(true)
      }),
    )
  })
})

describe('back-off', () => {
  it('is between 0 and its limit', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, random) => {
        const ms = backoffMs(attempt, { baseMs: 100, maxMs: 5000 }, () => random)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThanOrEqual(Math.min(5000, 100 * 2 ** attempt))
      }),
    )
  })
})
