import { expect, test } from 'vitest'
import { daysToRemove, removedText, type Candidate } from '../../src/domain/retention.ts'
import { dayAt } from './builders.ts'

const nowMs = Date.parse('2026-11-24T12:00:00Z')

/** `day zone bytes`; `!` before it: the day must stay; `~`: its removal was begun. */
const storedOf = (text: string): Candidate => {
  const [, mark, day = '', zone, bytes] = /^([!~]?)(\S+) (\d+) (\d+)$/.exec(text) ?? []
  return {
    zone: Number(zone),
    day: dayAt(`2026-11-${day}`),
    bytes: Number(bytes),
    nowMs: mark === '!' ? undefined : nowMs,
    begun: mark === '~' ? { days: 90 } : undefined,
  }
}

test.each([
  ['no limit', null, null, ['01 1 10'], [], 0],
  ['a day goes when it ended so many days ago', 3, null, ['20 1 1', '21 1 1'], ['20 1'], 0],
  [
    'the oldest go first, until the rest is small enough',
    null,
    20,
    ['12 1 10', '10 1 10', '11 1 10', '09 1 5'],
    ['09 1', '10 1'],
    0,
  ],
  ['zones of one day go one after another', null, 10, ['10 2 10', '10 1 10'], ['10 1'], 0],
  ['what goes by age counts for the size', 10, 10, ['01 1 50', '23 1 10'], ['01 1'], 0],
  [
    'a day that must stay is skipped, and what is too much is told',
    1,
    5,
    ['!01 1 10', '10 1 10', '!24 1 10'],
    ['10 1'],
    15,
  ],
  ['a begun removal is finished', 30, 1_000, ['~20 1 10', '21 1 10'], ['20 1'], 0],
  ['a begun removal waits as long as its day must stay', 30, null, ['~20 1 10', '!20 2 10'], ['20 1'], 0],
] as const)('%s', (_, days, maxBytes, stored, removed, excessBytes) => {
  const found = daysToRemove(stored.map(storedOf), { days, maxBytes })
  expect(found.chosen.map(({ stored: { day, zone } }) => `${day.slice(-2)} ${zone}`)).toEqual(removed)
  expect(found.excessBytes).toBe(excessBytes)
})

test('a removed day names the limit that it has reached', () => {
  const stored = ['01 1 50', '22 1 50', '~23 1 1'].map(storedOf)
  const { chosen } = daysToRemove(stored, { days: 10, maxBytes: 10_000 })
  expect(chosen.map(({ limit }) => removedText(limit))).toEqual([
    'removed after 10 days',
    'removed after 90 days',
  ])
  const bySize = daysToRemove(stored.slice(1, 2), { days: 1, maxBytes: 10 }).chosen
  expect(bySize.map(({ limit }) => limit)).toEqual([{ days: 1 }])
  expect(removedText({ days: 1 })).toBe('removed after 1 day')
  expect(removedText({ maxBytes: 20_000_000_000 })).toBe(
    'removed by size (retention.maxBytes: 20,000,000,000)',
  )
})
