import { describe, expect, test } from 'vitest'
import { answerRows, outcomeFor, type Outcome, type PresetName } from './answers.ts'
import { type Dialect, ids, nowMs, type ShipResult, type Script, ship } from './scripted-destination.ts'
import { testEvent } from '../../src/tasks/check/sinks.ts'

/** What every preset owes to the pump, whatever the destination does. */
export function presetContract(preset: PresetName, dialect: Dialect, name: string = preset): void {
  const run = (script: Script) => ship(preset, dialect, { script })

  /** Delivered and dead letters are what was fetched, and nothing is both. */
  function expectWhole({ stored, refused, resent }: ShipResult, expected: readonly string[] = []): void {
    expect(refused.toSorted()).toEqual(expected.toSorted())
    expect(new Set([...stored, ...refused])).toEqual(new Set(ids))
    expect(stored.filter((id) => refused.includes(id))).toEqual([])
    expect(resent).toEqual([])
  }

  const withoutCopies = ({ stored }: ShipResult) => expect(stored).toHaveLength(new Set(stored).size)

  describe(`preset ${name}: what it makes of`, () => {
    const rows = answerRows.flatMap((row) => {
      const outcome = outcomeFor(row, preset)
      return outcome === undefined ? [] : [{ ...row, outcome }]
    })

    test.each(rows)('$answer: $outcome', async ({ outcome, shipment }) => {
      const result = await ship(preset, dialect, { ...shipment(dialect), rounds: 1 })
      expect(outcomeOf(result)).toBe(outcome)
      expect(result.resent).toEqual([])
    })
  })

  describe(`preset ${name}: delivered and dead letters are what was fetched`, () => {
    test('without failures, in bodies of ten', async () => {
      const outcome = await run(() => undefined)
      expectWhole(outcome)
      withoutCopies(outcome)
      expect(outcome).toMatchObject({ requests: 4, failures: [], lost: 0 })
    })

    test('the test event of a check, which has few fields', async () => {
      const event = { ...testEvent({ id: 101, name: 'shop' }, nowMs), id: 'event-0' }
      const outcome = await ship(preset, dialect, { script: () => undefined, events: [event] })
      expect(outcome).toMatchObject({ stored: ['event-0'], refused: [], failures: [], lost: 0 })
    })

    test.each([[['event-0']], [['event-5']], [['event-9', 'event-12', 'event-13', 'event-39']]])(
      'with partial failure at %j',
      async (bad) => {
        const outcome = await run((some) =>
          some.some((id) => bad.includes(id)) ? dialect.refused(some, bad) : undefined,
        )
        expectWhole(outcome, bad)
      },
    )

    test('with items out of order', async () => {
      const outcome = await run((some) => ({
        reply: (dialect.shuffled ?? dialect.taken)(some),
        stored: some,
      }))
      expectWhole(outcome)
      withoutCopies(outcome)
    })

    test.each([
      ['413 without a body', { status: 413 }],
      ['400', { status: 400, body: 'http: request body too large' }],
    ])('if a body of more than three is too large: %s', async (_name, reply) => {
      const outcome = await run((some) => (some.length > 3 ? { reply } : undefined))
      expectWhole(outcome)
      withoutCopies(outcome)
    })

    test('with an acknowledgement of fewer events than were sent', async () => {
      const { fewer } = dialect
      let lost = 0
      const outcome = await run((some, index) => {
        if (index !== 1 || fewer === undefined) return undefined
        const step = fewer(some)
        lost = step.lost
        return step
      })
      expect(outcome.lost).toBe(lost)
      expect(outcome.resent).toEqual([])
      expect(new Set(outcome.stored).size + outcome.lost + outcome.refused.length).toBe(ids.length)
    })
  })
}

/** What the sink made of an answer, from what one delivery of 40 events in bodies of ten came to. */
function outcomeOf({ failures, kinds, refused, lost, requests }: ShipResult): Outcome {
  if (kinds[0] === 'wait') return 'later'
  if (kinds[0] === 'stop') return 'stops'
  if (failures[0] === 'rejected' && refused.length === 0) return 'backs off'
  if (failures.length > 0) return 'again'
  if (lost > 0) return 'lost'
  if (refused.length > 0) return 'refused'
  return requests > 8 ? 'halved' : 'delivered'
}
