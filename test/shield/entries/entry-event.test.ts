import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Json } from '../../../src/domain/text/json.ts'
import { eventsOf, toEvent } from '../../../src/shield/entries/to-event.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { defaults, entry, zone } from '../samples.ts'

const redactor = createRedactor(defaults)
// prettier-ignore
const members = [
  'id', 'time', 'timeMs', 'fingerprint', 'zone', 'action', 'severity', 'rule', 'request', 'response', 'client', 'pop',
  'match', 'labels', 'log',
] as const satisfies readonly (keyof Event)[]

function readOf(event: Event): unknown[] {
  return [...members.map((name) => event[name]), event.raw()]
}

const entries = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc
    .record({ logId: fc.string(), timestamp: fc.nat(), labels: fc.jsonValue(), log: fc.jsonValue() })
    .map((changes) => entry(changes as Record<string, Json>)),
) as fc.Arbitrary<Json>

describe('the entries of a page', () => {
  it('have the same values as events, in any order of access', () => {
    fc.assert(
      fc.property(fc.array(entries, { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (page, looks) => {
        const events = eventsOf(page, zone, redactor)
        const looked = [...looks.map((place) => place % page.length), ...page.keys()]
        for (const place of looked)
          expect(readOf(events[place]!)).toEqual(readOf(toEvent(page[place]!, zone, redactor)))
      }),
      { numRuns: 300 },
    )
  })

  it('have an identity without decoding the log', () => {
    let decoded = 0
    const counting: typeof redactor = (rest, log) => {
      decoded++
      return redactor(rest, log)
    }
    const [event] = eventsOf([entry()], zone, counting)
    expect([event!.id, event!.timeMs, event!.fingerprint]).not.toContain(undefined)
    expect(decoded).toBe(0)
    expect([event!.action, event!.log, event!.raw()]).not.toContain(undefined)
    expect(decoded).toBe(1)
  })
})
