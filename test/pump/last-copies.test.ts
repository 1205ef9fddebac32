import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { at, buildCheckpoint, stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, type Stage } from './stage.ts'

const events = Array.from({ length: 6 }, (_, index) => eventAt(index))

async function staged(): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  return stage
}

describe('lines that were never committed', () => {
  const identities = [
    { id: 'e0', time: eventAt(0).time! },
    { id: 'e0', time: eventAt(0).time! },
    { id: 'e1', time: eventAt(1).time! },
    { id: 'untimed' },
    { id: 'torn', time: 'no time at all' },
  ]
  const part = { writer: 'w', part: 'p', bytes: 50, lines: 5 }

  /** A stage with one event delivered, whose day ended. */
  async function late(as: 'complete' | 'expired' = 'complete') {
    const stage = await staged()
    stage.script.answer = listingOf([events[0]!], 1)
    await stage.pump()
    const { fence, checkpoint } = await stage.store.ledger.take(stream, stage.deps.holder)
    const commit = checkpoint!.commit + 1
    const next = { ...checkpoint!, commit, ended: { as, atMs: at(1) } } as const
    await stage.store.ledger.commit({
      fence,
      basedOn: commit - 1,
      next,
      seen: new Map(),
      deadLetters: [],
      gaps: [],
    })
    await stage.store.ledger.release(stream, fence)
    return stage
  }
  const ledgerOf = async ({ store }: Awaited<ReturnType<typeof late>>) =>
    (await store.ledger.minutes(stream)).reduce((sum, { count }) => sum + count, 0)

  it('are kept once each, also if some were seen before', async () => {
    const stage = await late()
    stage.script.reconcile = ({ lastCopies }) => lastCopies!.keep(identities, part)
    await stage.pump()
    expect(stage.delivered.map(({ id }) => id)).toEqual(['e0'])
    expect((await stage.read())?.committed).toEqual([part])
    // e0, e1, the one without a time and the one whose time nobody can read.
    expect(await ledgerOf(stage)).toBe(4)
  })

  it('are committed batch by batch, also if the process dies between two', async () => {
    const stage = await late()
    const half = { ...part, bytes: 20, lines: 2 }
    stage.script.reconcile = async ({ lastCopies }) => {
      await lastCopies!.keep(identities.slice(0, 3), half)
      throw new Failure('cancelled', 'cancelled', 'died')
    }
    await expect(stage.pump()).rejects.toThrow('died')
    expect((await stage.read())?.committed).toEqual([half])
    stage.script.reconcile = async ({ lastCopies, committed }) => {
      expect(committed).toEqual([half])
      expect(await lastCopies!.unshippedOf(identities.slice(0, 3))).toEqual([])
      await lastCopies!.keep(identities.slice(3), part)
    }
    await stage.pump()
    expect((await stage.read())?.committed).toEqual([part])
    expect(await ledgerOf(stage)).toBe(4)
  })

  it('stay only where no other part has their event', async () => {
    const stage = await late()
    const [e0, , e1] = identities
    stage.script.reconcile = async ({ lastCopies }) => {
      expect(await lastCopies!.unshippedOf([e0!, e1!, e1!])).toEqual([e1])
      // Another part may hold the same lines: they stay in one of the two.
      await lastCopies!.keep([e1!], part)
      expect(await lastCopies!.unshippedOf([e0!, e1!])).toEqual([])
    }
    await stage.pump()
    expect((await stage.read())?.committed).toEqual([part])
  })

  it.each([
    ['are all cut where a day is complete', 'complete', []],
    ['may all be last copies where a day expired', 'expired', ['e0', 'e1']],
  ] as const)('%s and its deduplication index was dropped', async (_, as, last) => {
    const stage = await late(as)
    await stage.store.upkeep.forgetFingerprints(stream)
    const [e0, , e1] = identities
    stage.script.reconcile = async ({ lastCopies }) => {
      expect((await lastCopies!.unshippedOf([e0!, e1!])).map(({ id }) => id)).toEqual(last)
    }
    await stage.pump()
    expect(stage.log).toContain('close')
  })

  it('stay where they are dead letters, also if the index of a complete day was dropped', async () => {
    const stage = await late()
    await stage.store.upkeep.forgetFingerprints(stream)
    const [e0, , e1] = identities
    stage.store.deadLetters.keys = async () => [e1!]
    stage.script.reconcile = async ({ lastCopies }) => {
      expect(await lastCopies!.unshippedOf([e0!, e1!])).toEqual([e1])
    }
    await stage.pump()
  })

  it.each([
    ['while the day can be read for a while', at(71.9), true],
    ['in the last minute in which it can', at(72) - 30_000, false],
    ['when it cannot be read any more', at(72) + 1, false],
  ])('are cut only %s', async (_, nowMs, readable) => {
    const stage = await staged()
    await stage.clock.advance(nowMs - stage.clock.now())
    stage.script.answer = () => new Failure('retry', 'network', 'x')
    await stage.pump()
    expect(stage.opened.at(-1)!.lastCopies === undefined).toBe(readable)
  })

  it('stay if the stream has ended', async () => {
    const stage = await staged()
    const { fence } = await stage.store.ledger.take(stream, stage.deps.holder)
    const next = buildCheckpoint({ commit: 1, ended: { as: 'complete', atMs: at(1) } })
    await stage.store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
    await stage.pump({ readRequest: { id: 'w' } })
    expect(stage.opened.at(-1)!.lastCopies).toBeDefined()
  })
})
