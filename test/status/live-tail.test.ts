import { expect, test } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { createLiveTail } from '../../src/status/live-tail.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { eventAt } from '../pump/stage.ts'

const zones = [1, 2, 3, 4].map((id) => ({ id, name: `zone-${id}`, account: 'default' }))

function open(poll: () => Promise<Event[]>) {
  const clock = createFakeClock()
  let polls = 0
  const tail = createLiveTail({
    clock,
    zones: () => zones,
    follow: () => ({
      async poll(_signal, most) {
        polls++
        return (await poll()).slice(-most)
      },
    }),
  })
  return { clock, tail, polls: () => polls }
}

test('reads while somebody asks, all together once, and ends when nobody asks', async () => {
  let next: Event[] = [eventAt(1), eventAt(2)]
  const { clock, tail, polls } = open(() => Promise.resolve(next.splice(0)))
  expect(tail.of(1, 0)).toEqual({ last: 0, events: [], polls: 0, everySeconds: 5 })
  await clock.untilSleeping()
  expect(tail.of(1, 0)?.events.map(({ number }) => number)).toEqual([1, 2])
  next = [eventAt(3)]
  await clock.advance(5_000)
  expect(tail.of(1, 2)?.events.map(({ number }) => number)).toEqual([3])
  expect(tail.of(1, 3)).toMatchObject({ last: 3, events: [], polls: 2 })
  // A viewer of an earlier reading gets all of this one.
  expect(tail.of(1, 99)?.events).toHaveLength(3)
  await clock.advance(60_000)
  expect(clock.sleeping()).toBe(0)
  expect(polls()).toBeLessThan(8)
})

test('keeps the newest events, names an error of the API, and tries again', async () => {
  let fails = true
  const found = Array.from({ length: 150 }, (_, at) => eventAt(at))
  const { clock, tail } = open(() => (fails ? Promise.reject(new Error('no route')) : Promise.resolve(found)))
  tail.of(1, 0)
  await clock.untilSleeping()
  expect(tail.of(1, 0)?.problem).toBe('no route')
  fails = false
  for (let polls = 0; polls < 3; polls++) await clock.advance(5_000)
  const view = tail.of(1, 0)
  expect([view?.events.length, view?.last, view?.problem]).toEqual([200, 300, undefined])
  tail.stop()
  await clock.advance(0)
  expect(clock.sleeping()).toBe(0)
})

test('reads at most three zones, and none that is not configured', async () => {
  const { tail, polls } = open(() => Promise.resolve([]))
  for (const { id } of zones) tail.of(id, 0)
  expect(polls()).toBe(3)
  expect(tail.of(4, 0)?.problem).toMatch(/^this process reads 3 zones live already/)
  expect(tail.of(9, 0)).toBeUndefined()
  tail.stop()
})
