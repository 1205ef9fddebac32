import type { Day } from '../../../src/domain/day.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Failure } from '../../../src/domain/failure.ts'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import type { Cursor, Page } from '../../../src/domain/scan/page.ts'
import type { Source } from '../../../src/ports/delivery.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'

export const zone = { id: 1, name: 'shop', account: 'default' }
export const day = '2026-11-20' as Day
export const never = new AbortController().signal

export function eventOf(number: number): Event {
  const time = `2026-11-20T11:55:${String(number).padStart(2, '0')}.000Z`
  const identity = { id: `event-${number}`, time }
  const rest = { zone: { id: 1, name: 'shop' }, labels: {}, log: {}, raw: () => ({}) }
  return { ...identity, timeMs: Date.parse(time), fingerprint: fingerprintOf(identity), ...rest }
}

/** Pages of two events, or none; `failures` are thrown in the place of the requests of these numbers. */
export function listing(
  pages: number,
  failures: Readonly<Record<number, Failure>> = {},
  isEmpty: (page: number) => boolean = () => false,
) {
  const clock = createFakeClock(Date.parse('2026-11-20T12:00:00.000Z'), true)
  let [requests, held] = [0, 0]
  const source: Source = {
    async fetchPage({ cursor }): Promise<Page> {
      const failure = failures[++requests]
      if (failure !== undefined) throw failure
      const number = cursor === null ? 0 : Number(cursor)
      held++
      const more = number + 1 < pages
      const events = isEmpty(number + 1) ? [] : [eventOf(number * 2), eventOf(number * 2 + 1)]
      return {
        content: () => ({ events, more, next: more ? (String(number + 1) as Cursor) : null }),
        bytes: 10,
        requestedAt: clock.now(),
        release: () => held--,
      }
    },
  }
  const deps = { source, clock, apiClock: createApiClock(clock) }
  return { deps, clock, requests: () => requests, held: () => held }
}
