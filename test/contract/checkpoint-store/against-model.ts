import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { countMinute, packFingerprints, unpackFingerprints } from '../../../src/domain/event/seen.ts'
import { isFailure } from '../../../src/domain/failure.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type { Commit, Store } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  nothingOld,
  packed,
} from './builders.ts'
import { ModelStore } from './model.ts'
import type { OpenedStore } from './opened-store.ts'
import { dayAt } from '../../domain/builders.ts'

const holders = [buildHolder('a'), buildHolder('b'), buildHolder('s', true), buildHolder('t', true)]
const sinks = ['archive', 'siem', 'fresh']
const streams = [
  buildStream(),
  buildStream({ day: dayAt('2026-11-19') }),
  buildStream({ zone: 102, sink: 'siem' }),
]
const gapReasons = ['unreadable', 'not_running', 'too_large'] as const
const minutes = [-1, 0, 7, 29_916_000]

// Numbers pick from short lists, so that steps meet each other often.
const few = fc.nat({ max: 2 })
const anyHolder = fc.nat({ max: 3 })
/** Which of the takes, or commits, so far: counted from the latest, which is the likeliest. */
const latest = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.nat({ max: 6 }) },
)
const often = <Value>(usual: Value, weight: number, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

/** A store and the model of it, and what was done to both. */
class Both {
  readonly opened: OpenedStore
  readonly model = new ModelStore()
  store: Store
  /** What pumps hold: the fence as the store counts it, and as the model does. */
  readonly takes: { readonly stream: Stream; readonly fence: number; readonly modelFence: number }[] = []
  readonly commits: { readonly commit: Commit; readonly modelFence: number }[] = []
  fingerprints = 1

  constructor(opened: OpenedStore) {
    this.opened = opened
    this.store = opened.store
  }

  nowMs(): number {
    return this.opened.clock.now()
  }

  async send({ commit, modelFence }: Both['commits'][number]): Promise<void> {
    const expected = this.model.commit({ ...commit, fence: modelFence }, this.nowMs())
    expect(await this.store.ledger.commit(commit).catch(codeOf)).toBe(expected)
  }
}

interface Kind<Given> {
  readonly weight: number
  readonly given: { readonly [Key in keyof Given]: fc.Arbitrary<Given[Key]> }
  readonly act: (both: Both, given: Given) => Promise<void>
}

function kind<Given>(
  weight: number,
  given: Kind<Given>['given'],
  act: Kind<Given>['act'],
): Kind<Record<string, unknown>> {
  return { weight, given, act } as unknown as Kind<Record<string, unknown>>
}

/** What is done to a store: how likely it is, with what, and what both make of it. Each answer must be equal. */
const kinds = {
  take: kind(6, { stream: few, holder: anyHolder }, async (both, given) => {
    const [stream, holder] = [streams[given.stream]!, holders[given.holder]!]
    const expected = both.model.take(stream, holder, both.nowMs())
    const taken = await both.store.ledger.take(stream, holder).catch(codeOf)
    if (typeof taken === 'string' || expected === 'held') return expect(taken).toBe(expected)
    expect(taken.checkpoint).toEqual(expected.checkpoint)
    const before = both.takes.filter((each) => streamKey(each.stream) === streamKey(stream))
    expect(before.every(({ fence }) => taken.fence > fence)).toBe(true)
    both.takes.unshift({ stream, fence: taken.fence, modelFence: expected.fence })
  }),
  commit: kind(
    12,
    {
      take: latest,
      /** Added to the right `basedOn`. */
      basedOff: often(0, 5, fc.constantFrom(-1, 1)),
      minutes: fc.array(fc.tuple(fc.constantFrom(...minutes), fc.constantFrom(0, 1, 3, 249, 250, 251, 700)), {
        maxLength: 3,
      }),
      deadLetters: often<number[]>([], 2, fc.array(few, { maxLength: 2 })),
      removed: often<number[]>([], 3, fc.array(few, { maxLength: 2 })),
      gaps: fc.uniqueArray(few, { maxLength: 2 }),
      areGapsRead: often(false, 3, fc.constant(true)),
      endedAtMs: fc.constantFrom(null, null, 5, 50),
      /** Whether the sink may have something of the day. */
      isShipped: often(true, 3, fc.constant(false)),
      isAllUnseen: often(false, 5, fc.constant(true)),
    },
    async (both, given) => {
      const held = both.takes[given.take]
      if (held === undefined) return
      const { stream, fence, modelFence } = held
      const known = both.model.streams.get(streamKey(stream))?.checkpoint?.commit ?? 0
      const basedOn = known + given.basedOff
      const seen = new Map<number, Uint8Array>()
      for (const [minute, count] of given.minutes) {
        seen.set(minute, packed(both.fingerprints, count))
        both.fingerprints += count
      }
      const atMs = given.endedAtMs
      const as = given.isShipped ? 'complete' : 'expired'
      const ended = atMs === null ? {} : { ended: { as, atMs } as const }
      const committed = given.isShipped ? {} : { committed: [] }
      const commit = {
        fence,
        basedOn,
        next: buildCheckpoint(stream, basedOn + 1, { ...ended, ...committed }),
        seen,
        ...(given.isAllUnseen && { unsee: 'all' as const }),
        deadLetters: [...new Set(given.deadLetters)].map((id) => deadLetterOf(stream, id)),
        removedDeadLetters: given.removed.map((id) => ({ id: `e${id}` })),
        gaps: given.gaps.map((id) => ({
          ...gapOf(stream.sink, id),
          ...(given.areGapsRead && { readAt: both.nowMs() }),
        })),
      }
      both.commits.unshift({ commit, modelFence })
      await both.send({ commit, modelFence })
    },
  ),
  loadSeen: kind(3, { take: latest, basedOff: often(0, 2, fc.constantFrom(-1, 1)) }, async (both, given) => {
    const held = both.takes[given.take]
    const known = held && both.model.streams.get(streamKey(held.stream))
    if (held === undefined || known === undefined) return
    const by = { fence: held.fence, basedOn: (known.checkpoint?.commit ?? 0) + given.basedOff }
    const isHeld = given.basedOff === 0 && known.fence === held.modelFence
    const loaded = await both.store.ledger.loadSeen(held.stream, minutes, by).catch(codeOf)
    expect(loaded === 'fence_lost').toBe(!isHeld)
  }),
  repeat: kind(3, { commit: latest }, async (both, given) => {
    const earlier = both.commits[given.commit]
    if (earlier !== undefined) await both.send(earlier)
  }),
  release: kind(3, { take: latest }, async (both, given) => {
    const held = both.takes[given.take]
    if (held === undefined) return
    both.model.release(held.stream, held.modelFence)
    await both.store.ledger.release(held.stream, held.fence)
  }),
  heartbeat: kind(2, { holder: anyHolder }, async (both, given) => {
    const holder = holders[given.holder]!
    both.model.heard.set(holder.id, both.nowMs())
    await both.store.ledger.heartbeat(holder)
  }),
  wait: kind(2, { ms: fc.constantFrom(1, 5_000, 19_999, 20_000) }, ({ opened }, { ms }) =>
    opened.clock.advance(ms),
  ),
  forget: kind(1, { stream: few }, async (both, given) => {
    both.model.forget(streams[given.stream]!, both.nowMs())
    await both.store.upkeep.dropIndex(streams[given.stream]!)
  }),
  addGaps: kind(1, { gaps: fc.array(few) }, async ({ model, store }, given) => {
    const gaps = given.gaps.map((id) => gapOf('siem', id))
    model.addGaps(gaps)
    await store.catalogue.addGaps(gaps)
  }),
  rename: kind(1, { from: few, to: few }, async (both, given) => {
    const [from, to] = [sinks[given.from]!, sinks[given.to]!]
    const expected = both.model.renameSink(from, to, both.nowMs())
    const answer = await both.store.upkeep.renameSink(from, to).catch(codeOf)
    expect(answer).toBe(expected === 'taken' ? 'store_refuses' : expected)
  }),
  prune: kind(1, { before: fc.constantFrom(0, 10, 100) }, async (both, { before }) => {
    const ended = both.model.prune(before, both.nowMs())
    await both.store.upkeep.prune(ended, { ...nothingOld, gapsBefore: before })
  }),
  reopen: kind(1, {}, async (both) => {
    both.store = await both.opened.reopen()
  }),
}

type Step = { readonly do: keyof typeof kinds } & Record<string, unknown>
const step = fc.oneof(
  ...Object.entries(kinds).map(([name, { weight, given }]) => ({
    weight,
    arbitrary: fc.record({ do: fc.constant(name), ...given }) as fc.Arbitrary<unknown> as fc.Arbitrary<Step>,
  })),
)
export const steps = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' })

/** Takes the same steps on a store and on the model. All that can be read at the end must be equal too. */
export async function runAgainstModel(opened: OpenedStore, steps: readonly Step[]): Promise<void> {
  const both = new Both(opened)
  // Another connection, whose lists read what changed since the list before.
  const observer = await opened.reopen()
  for (const step of steps) {
    await kinds[step.do].act(both, step)
    compareLists(await observer.catalogue.checkpoints(), both.model)
  }
  await compareAll(both)
}

/** All that can be read of a store is what the model holds. Lists have no order of their own. */
async function compareAll({ store, model }: Both): Promise<void> {
  const deadLetters = [...model.deadLetters.values()]
  compareLists(await store.catalogue.checkpoints(), model)
  expect(inOrder(await store.catalogue.gaps())).toEqual(inOrder([...model.gaps.values()]))
  expect(inOrder(await store.deadLetters.list())).toEqual(inOrder(deadLetters))
  const counts = await store.deadLetters.counts()
  const counted = counts.flatMap(({ sink, count }) => Array.from({ length: count }, () => sink))
  expect(counted.sort()).toEqual(deadLetters.map(({ sink }) => sink).sort())
  for (const sink of sinks)
    for (const { zone, day } of streams) {
      const stream = { zone, day, sink }
      expect(await store.ledger.read(stream)).toEqual(model.streams.get(streamKey(stream))?.checkpoint)
      await compareSeen(store, model, stream)
    }
}

function compareLists(listed: readonly Checkpoint[], model: ModelStore): void {
  const checkpoints = [...model.streams.values()].flatMap(({ checkpoint }) =>
    checkpoint === undefined ? [] : [{ ...checkpoint, mark: [] }],
  )
  expect(inOrder(listed)).toEqual(inOrder(checkpoints))
}

async function compareSeen(store: Store, model: ModelStore, stream: Stream): Promise<void> {
  const held = model.streams.get(streamKey(stream))
  expect(await store.ledger.dropped(stream)).toBe(model.dropped(stream))
  const found = await store.ledger.loadSeen(stream, minutes)
  for (const minute of minutes) {
    const values = unpackFingerprints(found.get(minute) ?? new Uint8Array())
    expect(ascending(values)).toEqual(ascending(held?.seen.get(minute) ?? []))
    expect(found.has(minute)).toBe(values.length > 0)
  }
  const counted = [...(held?.counted ?? [])]
    .filter(([, values]) => values.length > 0)
    .map(([minute, values]) => countMinute(minute, packFingerprints(values)))
  expect(await store.ledger.minutes(stream)).toEqual(counted.sort((a, b) => a.minute - b.minute))
}

/** The streams of checkpoints come first or last in them: a store need not keep the order of keys. */
function inOrder<T extends object>(values: readonly T[]): T[] {
  const textOf = (value: T) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  return values.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
}

function ascending(values: readonly bigint[]): bigint[] {
  return values.toSorted((a, b) => (a < b ? -1 : 1))
}

function deadLetterOf({ zone, day, sink }: Stream, id: number) {
  return buildDeadLetter({ zone, day, sink, id: `e${id}`, event: 'x'.repeat(4_000) })
}

function gapOf(sink: string, id: number) {
  return buildGap({ sink, from: id, recordedAt: id * 20, reason: gapReasons[id] ?? 'unreadable' })
}

function codeOf(error: unknown): string {
  if (isFailure(error)) return error.code
  throw error
}
