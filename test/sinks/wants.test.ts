import { describe, expect, it } from 'vitest'
import { wantsOf, type Routing } from '../../src/sinks/wants.ts'
import { buildEvent, buildEvents, type EventParts } from '../formats/events.ts'

function wanted(routing: Routing, parts: EventParts = {}): boolean {
  return wantsOf(routing)?.(buildEvent(parts)) ?? true
}

describe('where', () => {
  it.each<[string, Routing['where'], boolean]>([
    ['a zone by its id', { zones: [101] }, true],
    ['a zone by its name', { zones: ['shop'] }, true],
    ['a zone that is not listed', { zones: [102, 'blog'] }, false],
    ['an action in any case', { actions: ['blocked'] }, true],
    ['an action that is not listed', { actions: ['Logged', 'Challenged'] }, false],
    ['an action that is not kept out', { actions: { not: ['Logged'] } }, true],
    ['an action that is kept out', { actions: { not: ['BLOCKED'] } }, false],
    ['a severity in any case', { severities: ['CRITICAL'] }, true],
    ['a rule by a number', { rules: [930_130] }, true],
    ['a rule by a text', { rules: ['930130'] }, true],
    ['a country in any case', { countries: ['bg'] }, true],
    ['a country that is kept out', { countries: { not: ['BG', 'DE'] } }, false],
    ['all lists that are given', { actions: ['Blocked'], countries: ['BG'] }, true],
    ['one list of two', { actions: ['Blocked'], countries: ['DE'] }, false],
  ])('decides by %s', (_, where, passes) => {
    expect(wanted({ where })).toBe(passes)
  })

  it('an event without the value passes no list, and every not', () => {
    const bare = { id: 'x', labels: {}, log: {}, client: {}, rule: {} }
    for (const key of ['rules', 'countries'] as const) {
      expect(wanted({ where: { [key]: ['x'] } }, bare)).toBe(false)
      expect(wanted({ where: { [key]: { not: ['x'] } } }, bare)).toBe(true)
    }
  })

  it('passes everything without a list', () => {
    expect(wantsOf({})).toBeUndefined()
    expect(wantsOf({ where: {}, sample: {} })).toBeUndefined()
  })
})

describe('sample', () => {
  const events = buildEvents(2000).map((event) => ({ ...event, action: 'Logged' }))
  const shareOf = (share: number) => {
    const wants = wantsOf({ sample: { logged: share } })!
    return new Set(events.filter(wants).map(({ id }) => id))
  }

  it('keeps about the share of the events with that action, and all others', () => {
    expect(shareOf(0).size).toBe(0)
    expect(shareOf(1).size).toBe(2000)
    expect(Math.abs(shareOf(0.1).size - 200)).toBeLessThan(60)
    expect(wanted({ sample: { Logged: 0 } })).toBe(true)
  })

  it('decides by the event, so that a re-read decides the same and a larger share keeps what a smaller one kept', () => {
    const small = shareOf(0.1)
    expect(shareOf(0.1)).toEqual(small)
    expect([...small].filter((id) => !shareOf(0.3).has(id))).toEqual([])
  })
})
