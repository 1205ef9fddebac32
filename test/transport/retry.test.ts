import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs, httpDateOf, limitResetMsOf, retryAfterMsOf } from '../../src/transport/retry.ts'

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
    ['999999999999999999999999', hour],
    ['Sun, 06 Nov 1994 08:49:47 GMT', 10_000],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['Sun, 06 Nov 2094 08:00:00 GMT', hour],
  ])('reads %j', (retryAfter, expected) => {
    const date = new Date(instant).toUTCString()
    const headers = { 'retry-after': retryAfter, date }
    expect(retryAfterMsOf({ headers }, instant + hour)).toBe(expected)
    expect(retryAfterMsOf({ headers }, instant - hour)).toBe(expected)
    expect(retryAfterMsOf({ headers: { 'retry-after': retryAfter } }, instant)).toBe(expected)
  })

  it.each([undefined, '', 'soon', '-5', '0x10', '1e9', 'NaN', 'Infinity'])('ignores %j', (retryAfter) =>
    expect(retryAfterMsOf({ headers: { 'retry-after': retryAfter } }, instant)).toBeUndefined(),
  )

  it('is always between 0 and an hour', () => {
    const headers = fc.oneof(
      fc.string(),
      fc.nat().map(String),
      fc.date().map((date) => date.toUTCString()),
    )
    fc.assert(
      fc.property(headers, (text) => {
        const waitMs = retryAfterMsOf({ headers: { 'retry-after': text } }, instant)
        expect(waitMs === undefined || (waitMs >= 0 && waitMs <= hour)).toBe(true)
      }),
    )
  })
})

describe('a limit of requests', () => {
  const seconds = instant / 1000
  it.each<[string, Record<string, string>, number | undefined]>([
    ['the list of the IETF', { ratelimit: '"default";r=0;t=30' }, 30_000],
    ['one of several that is used up', { ratelimit: '"burst";r=5;t=60, "day";r=0;t=40;pk=:dA==:' }, 40_000],
    ['an earlier draft', { ratelimit: 'limit=100, remaining=0, reset=50' }, 50_000],
    ['fields of their own', { 'ratelimit-remaining': '0', 'ratelimit-reset': '7' }, 7_000],
    ['seconds', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '0.5' }, 500],
    [
      'seconds of the epoch',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(seconds + 9) },
      9_000,
    ],
    ['ms of the epoch', { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(instant + 9) }, 9],
    ['more than an hour', { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '9'.repeat(30) }, hour],
    [
      'a renewal that is past',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(seconds - 9) },
      undefined,
    ],
    ['a renewal at once', { ratelimit: '"default";r=0;t=0' }, undefined],
    ['no renewal', { ratelimit: '"default";r=0', 'ratelimit-remaining': '0' }, undefined],
    ['what is no number', { 'ratelimit-remaining': '0', 'ratelimit-reset': 'NaN' }, undefined],
    [
      'requests that are left',
      { ratelimit: '"default";r=1;t=30', 'ratelimit-remaining': '1', 'ratelimit-reset': '9' },
      undefined,
    ],
  ])('is read from %s', (_, headers, expected) => {
    const date = new Date(instant).toUTCString()
    expect(limitResetMsOf({ headers: { ...headers, date } }, instant + hour, false)).toBe(expected)
    expect(limitResetMsOf({ headers }, instant, true)).toBe(expected)
  })

  it('is used up by a 429, unless requests are left', () => {
    const headers = { 'x-ratelimit-reset': '30' }
    expect([true, false].map((isRefused) => limitResetMsOf({ headers }, instant, isRefused))).toEqual([
      30_000,
      undefined,
    ])
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
