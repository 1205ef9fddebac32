import { describe, expect, test } from 'vitest'
import { testEvent } from '../../src/assemble/check.ts'
import { Secret } from '../../src/domain/text/secret.ts'
import { answerRows, outcomeFor, type Outcome, type PresetName } from './answers.ts'
import { type Dialect, ids, nowMs, type ShipResult, type Script, ship } from './scripted-destination.ts'

/** What every preset owes to the pump, whatever the destination does. */
export function presetContract(preset: PresetName, dialect: Dialect): void {
  const run = (script: Script, changed?: object) =>
    ship(preset, dialect, { script, ...(changed && { changed }) })

  /** Delivered and dead letters are what was fetched, and nothing is both. */
  function expectWhole({ stored, refused, resent }: ShipResult, expected: readonly string[] = []): void {
    expect(refused.toSorted()).toEqual(expected.toSorted())
    expect(new Set([...stored, ...refused])).toEqual(new Set(ids))
    expect(stored.filter((id) => refused.includes(id))).toEqual([])
    expect(resent).toEqual([])
  }

  const withoutCopies = ({ stored }: ShipResult) => expect(stored).toHaveLength(new Set(stored).size)

  describe(`preset ${preset}: what it makes of`, () => {
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

  describe(`preset ${preset}: delivered and dead letters are what was fetched`, () => {
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
      ['429', { status: 429 }],
      ['429 with Retry-After', { status: 429, headers: { 'retry-after': '0' } }],
      ['503', { status: 503, body: 'busy' }],
      ['500', { status: 500 }],
      ['a closed connection', 'closes' as const],
    ])('after two times %s', async (_name, reply) => {
      const outcome = await run((_some, index) => (index === 1 || index === 2 ? { reply } : undefined))
      expectWhole(outcome)
      withoutCopies(outcome)
    })

    test('with a Retry-After of a minute: the delivery ends, and accepted events stay delivered', async () => {
      const outcome = await run((_some, index) =>
        index === 1 ? { reply: { status: 429, headers: { 'retry-after': '60' } } } : undefined,
      )
      expect(outcome.failures[0]).toBe('throttled')
      expect(outcome.stored.slice(0, 10)).toEqual(ids.slice(0, 10))
      expect(outcome.resent).toEqual([])
    })

    test.each([
      ['413 without a body', { status: 413 }],
      ['400', { status: 400, body: 'http: request body too large' }],
      ['500', { status: 500, body: 'too large' }],
      ['a closed connection', 'closes' as const],
    ])('if a body of more than three is too large: %s', async (_name, reply) => {
      const outcome = await run((some) => (some.length > 3 ? { reply } : undefined))
      expectWhole(outcome)
      withoutCopies(outcome)
    })

    test.each([
      ['500', { status: 500 }],
      ['a closed connection', 'closes' as const],
    ])('if one event breaks the destination: %s', async (_name, reply) => {
      expectWhole(await run((some) => (some.includes('event-17') ? { reply } : undefined)), ['event-17'])
    })

    test('after a timeout although the body was accepted: sent again', async () => {
      const outcome = await run(
        (some, index) => (index === 1 ? { reply: 'silent', stored: some } : undefined),
        { timeoutSeconds: 0.4 },
      )
      expectWhole(outcome)
      expect(outcome.refused).toEqual([])
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

    test('after an invalid answer: not acknowledged, if the acknowledgement is in the body', async () => {
      const outcome = await run((_some, index) =>
        index === 1 ? { reply: { status: 200, body: '<html>ok</html>' }, stored: [] } : undefined,
      )
      if (dialect.readsStatusOnly === true) return
      expectWhole(outcome)
    })

    test('if the token expires in the middle and a new one is available', async () => {
      let valid = 's3cr3t-of-now'
      const secret = new Secret(valid, () => valid)
      const script: Script = (_some, index, got) => {
        if (index === 1) valid = 's3cr3t-of-later'
        const sent = dialect.secretOf(got)
        return sent === undefined || sent.includes(valid) ? undefined : { reply: dialect.unauthorised }
      }
      const outcome = await ship(preset, dialect, { script, secret })
      expectWhole(outcome)
      withoutCopies(outcome)
      expect(outcome.failures).toEqual([])
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
