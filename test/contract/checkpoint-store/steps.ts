import * as fc from 'fast-check'

// One thing done to a store. Numbers pick from short lists, so that steps meet each other often.
const few = fc.nat({ max: 2 })
/** Which of the takes, or commits, so far: counted from the latest, which is the likeliest. */
const latest = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.nat({ max: 6 }) },
)
export const stepMinutes = [-1, 0, 7, 29_916_000] as const
const minute = fc.constantFrom(...stepMinutes)
const count = fc.constantFrom(0, 1, 3, 249, 250, 251, 700)

const often = <Value>(usual: Value, weight: number, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

/** How likely each is, and what it is done with. */
const kinds = {
  take: [6, { stream: few, holder: fc.nat({ max: 3 }) }],
  commit: [
    12,
    {
      take: latest,
      /** Added to the right `basedOn`. */
      basedOff: often(0, 5, fc.constantFrom(-1, 1)),
      minutes: fc.array(fc.tuple(minute, count), { maxLength: 3 }),
      deadLetters: often<number[]>([], 2, fc.array(few, { maxLength: 2 })),
      removed: often<number[]>([], 3, fc.array(few, { maxLength: 2 })),
      gaps: fc.array(few, { maxLength: 2 }),
      endedAtMs: fc.constantFrom(null, null, 5, 50),
    },
  ],
  repeat: [3, { commit: latest }],
  release: [3, { take: latest }],
  heartbeat: [2, { holder: fc.nat({ max: 3 }) }],
  wait: [2, { ms: fc.constantFrom(1, 5_000, 19_999, 20_000) }],
  forget: [1, { stream: few }],
  removeDeadLetters: [2, { deadLetters: fc.array(few, { maxLength: 3 }) }],
  addGaps: [1, { gaps: fc.array(few) }],
  acknowledgeGaps: [1, { gaps: fc.array(few), atMs: fc.constantFrom(7, 700) }],
  rename: [1, { from: few, to: few }],
  prune: [1, { before: fc.constantFrom(0, 10, 100) }],
  reopen: [1, {}],
} as const

type Kinds = typeof kinds
type Given<Of> = { readonly [Key in keyof Of]: Of[Key] extends fc.Arbitrary<infer Value> ? Value : never }
export type Step<Kind extends keyof Kinds = keyof Kinds> = {
  [Each in Kind]: { readonly do: Each } & Given<Kinds[Each][1]>
}[Kind]

const step = fc.oneof(
  ...Object.entries(kinds).map(([kind, [weight, given]]) => ({
    weight,
    arbitrary: fc.record({ do: fc.constant(kind), ...given }) as fc.Arbitrary<unknown> as fc.Arbitrary<Step>,
  })),
)

export const steps = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' })
