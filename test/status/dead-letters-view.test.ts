import { describe, expect, it } from 'vitest'
import { deadLettersView } from '../../src/status/day.ts'
import { at, stream } from '../domain/builders.ts'

const letter = (id: string, event: string) => ({
  ...stream,
  id,
  reason: 'refused' as const,
  answer: '400',
  at: at(1),
  event,
})

function viewOf(letters: ReturnType<typeof letter>[]) {
  const store = {
    keys: () => Promise.resolve(letters),
    read: (_: unknown, keys: readonly unknown[]) =>
      Promise.resolve(letters.filter((each) => keys.includes(each))),
  }
  return deadLettersView(stream, store, ({ event }) =>
    event === 'damaged' ? { problem: 'a stored event is damaged' } : { event: { url: event } },
  )
}

describe('the dead letters of a day', () => {
  it('are the first 20, and the count of all', async () => {
    const view = await viewOf(Array.from({ length: 30 }, (_, index) => letter(`e${index}`, '/')))
    expect([view?.count, view?.deadLetters.length]).toEqual([30, 20])
    expect(view?.deadLetters[0]).toEqual({
      id: 'e0',
      reason: 'refused',
      answer: '400',
      at: '2026-11-20T01:00:00.000Z',
      event: '{\n  "url": "/"\n}',
    })
  })

  it('have an event of at most 8,000 characters, or the reason why it cannot be read', async () => {
    const view = await viewOf([letter('long', 'x'.repeat(9_000)), letter('bad', 'damaged')])
    expect(view?.deadLetters.map(({ event }) => event.length)).toEqual([8_001, 25])
    expect(view?.deadLetters[1]?.event).toBe('a stored event is damaged')
  })
})
