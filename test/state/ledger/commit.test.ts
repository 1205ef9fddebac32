import { describe, expect, it } from 'vitest'
import { countMinute } from '../../../src/domain/event/seen.ts'
import type { Commit } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  commitOnce,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const one = buildHolder('one')
const everything = {
  seen: new Map([[10, packed(1, 3)]]),
  deadLetters: [buildDeadLetter()],
  gaps: [buildGap()],
}

describe('a commit', () => {
  it('writes checkpoint, fingerprints, dead letters and gaps', async () => {
    const { store } = await openStore()
    await commitOnce(store, stream, everything)
    expect(await store.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1))
    // Lists hold no marks.
    expect(await store.catalogue.checkpoints()).toEqual([buildCheckpoint(stream, 1, { mark: [] })])
    expect(await store.ledger.loadSeen(stream, [10])).toEqual(everything.seen)
    expect(await store.deadLetters.list()).toEqual([buildDeadLetter()])
    expect(await store.catalogue.gaps()).toEqual([buildGap()])
  })

  it.each([
    ['an older fence', -1, 1],
    ['a fence that was never given', 1, 1],
    ['an older checkpoint', 0, 0],
    ['a checkpoint that the store does not have', 0, 2],
  ])('is refused under %s, and writes nothing', async (_, fenceOff, basedOn) => {
    const { store } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    await store.ledger.commit(buildCommit(stream, fence, 0))
    const commit = buildCommit(stream, fence + fenceOff, basedOn, everything)
    expect(await store.ledger.commit(commit)).toBe('refused')
    expect(await store.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1))
    expect((await store.ledger.loadSeen(stream, [10])).size).toBe(0)
    expect(await store.deadLetters.list()).toEqual([])
    expect(await store.catalogue.gaps()).toEqual([])
  })

  it('is refused for a stream without a holder', async () => {
    const { store } = await openStore()
    expect(await store.ledger.commit(buildCommit(stream, 1, 0))).toBe('refused')
    expect(await store.catalogue.checkpoints()).toEqual([])
  })

  it('that is repeated is done, also by another process and after another take, and written once', async () => {
    const { store, reopen } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    const commit = buildCommit(stream, fence, 0, everything)
    const again = await reopen()
    expect(await store.ledger.commit(commit)).toBe('done')
    expect(await store.ledger.commit(structuredClone(commit))).toBe('done')
    expect(await again.ledger.commit(commit)).toBe('done')
    expect(await store.ledger.minutes(stream)).toEqual([countMinute(10, packed(1, 3))])
    await store.ledger.take(stream, one)
    expect(await store.ledger.commit(commit)).toBe('done')
    expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('refused')
  })

  it.each<[string, Partial<Commit>]>([
    ['fingerprints', { seen: new Map([[10, packed(2, 3)]]) }],
    ['fingerprints that are to be removed', { seen: new Map(), unsee: everything.seen }],
    ['a checkpoint', { next: buildCheckpoint(stream, 1, { restarts: 1 }) }],
    ['dead letters', { deadLetters: [buildDeadLetter({ at: 7 })] }],
  ])('of the same fence and number with other %s is refused', async (_, other) => {
    const { store } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    await store.ledger.commit(buildCommit(stream, fence, 0, everything))
    const commit = buildCommit(stream, fence, 0, { ...everything, ...other })
    expect(await store.ledger.commit(commit)).toBe('refused')
    expect(await store.ledger.minutes(stream)).toEqual([countMinute(10, packed(1, 3))])
  })

  it('and what was read of it may be changed by who has it', async () => {
    const { store } = await openStore()
    await commitOnce(store, stream, everything)
    const checkpoint = (await store.ledger.read(stream)) as unknown as { restarts: number }
    checkpoint.restarts = 99
    ;(await store.catalogue.checkpoints()).pop()
    ;(await store.ledger.loadSeen(stream, [10])).get(10)?.fill(0)
    expect(await store.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1))
    expect(await store.catalogue.checkpoints()).toHaveLength(1)
    expect(await store.ledger.loadSeen(stream, [10])).toEqual(everything.seen)
  })
})
