import * as fc from 'fast-check'

/** One thing done to a store. Numbers pick from short lists, so that steps meet each other often. */
export type Step =
  | { readonly do: 'take'; readonly stream: number; readonly holder: number }
  | {
      readonly do: 'commit'
      readonly take: number
      /** Added to the right `basedOn`. */
      readonly basedOff: number
      readonly minutes: readonly (readonly [number, number])[]
      readonly deadLetters: readonly number[]
      readonly removed: readonly number[]
      readonly gaps: readonly number[]
      readonly endedAtMs: number | null
    }
  | { readonly do: 'repeat'; readonly commit: number }
  | { readonly do: 'release'; readonly take: number }
  | { readonly do: 'heartbeat'; readonly holder: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'forget'; readonly stream: number }
  | { readonly do: 'removeDeadLetters'; readonly deadLetters: readonly number[] }
  | { readonly do: 'addGaps'; readonly gaps: readonly number[] }
  | { readonly do: 'acknowledgeGaps'; readonly gaps: readonly number[]; readonly atMs: number }
  | { readonly do: 'rename'; readonly from: number; readonly to: number }
  | { readonly do: 'prune'; readonly before: number }
  | { readonly do: 'reopen' }

const few = fc.nat({ max: 2 })
/** Which of the takes, or commits, so far: counted from the latest, which is the likeliest. */
const latest = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.nat({ max: 6 }) },
)
export const stepMinutes = [-1, 0, 7, 29_916_000] as const
const minute = fc.constantFrom(...stepMinutes)
const count = fc.constantFrom(0, 1, 3, 249, 250, 251, 700)

const commit = fc.record({
  do: fc.constant('commit' as const),
  take: latest,
  basedOff: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(-1, 1) },
  ),
  minutes: fc.array(fc.tuple(minute, count), { maxLength: 3 }),
  deadLetters: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(few, { maxLength: 2 }) },
  ),
  removed: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(few, { maxLength: 2 }) },
  ),
  gaps: fc.array(few, { maxLength: 2 }),
  endedAtMs: fc.constantFrom(null, null, 5, 50),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('take' as const), stream: few, holder: fc.nat({ max: 3 }) }),
  },
  { weight: 12, arbitrary: commit },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('repeat' as const), commit: latest }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), take: latest }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('heartbeat' as const), holder: fc.nat({ max: 3 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 5_000, 19_999, 20_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), stream: few }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('removeDeadLetters' as const),
      deadLetters: fc.array(few, { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('addGaps' as const), gaps: fc.array(few) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('acknowledgeGaps' as const),
      gaps: fc.array(few),
      atMs: fc.constantFrom(7, 700),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rename' as const), from: few, to: few }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('prune' as const), before: fc.constantFrom(0, 10, 100) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
)

export const steps = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' })
