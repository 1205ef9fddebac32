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
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'

// Random steps on a store and on a model of it (test/contract) show the other rules of fences and commits.

const openStore = await ledgerStores()

const stream = buildStream()
const [one, two] = [buildHolder('one'), buildHolder('two')]
const everything = {
  seen: new Map([[10, packed(1, 3)]]),
  deadLetters: [buildDeadLetter()],
  gaps: [buildGap()],
}

describe('the fence of a stream', () => {
  it('stays with a live holder, also for another process, and the answer says until when', async () => {
    const { store, clock, reopen } = await openStore()
    const again = await reopen()
    const { fence, storeId } = await store.ledger.take(stream, one)
    expect(storeId).toBe(again.id)
    const until = clock.now() + 20_000
    await clock.advance(19_999)
    await expect(again.ledger.take(stream, two)).rejects.toMatchObject({
      kind: 'wait',
      code: 'held',
      details: { retryAt: until },
    })
    await clock.advance(1)
    expect((await again.ledger.take(stream, two)).fence).toBeGreaterThan(fence)
    expect(await store.ledger.commit(buildCommit(stream, fence, 0))).toBe('refused')
  })

  it('does not stay with a dead holder after the clock was set back', async () => {
    const { store, clock } = await openStore()
    await store.ledger.take(stream, one)
    clock.jump(-3_600_000)
    await expect(store.ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
    await clock.advance(20_000)
    await store.ledger.take(stream, two)
  })
})

describe('a commit', () => {
  it('is refused for a stream without a holder', async () => {
    const { store } = await openStore()
    expect(await store.ledger.commit(buildCommit(stream, 1, 0))).toBe('refused')
    expect(await store.catalogue.checkpoints()).toEqual([])
  })

  it.each<[string, Partial<Commit>]>([
    ['fingerprints', { seen: new Map([[10, packed(2, 3)]]) }],
    ['fingerprints that are to be removed', { seen: new Map(), unsee: everything.seen }],
    ['a checkpoint', { next: buildCheckpoint(stream, 1, { restarts: 1 }) }],
    ['dead letters', { deadLetters: [buildDeadLetter({ at: 7 })] }],
  ])('of the same fence and number with other %s is refused, and the very same is done', async (_, other) => {
    const { store } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    const commit = buildCommit(stream, fence, 0, everything)
    expect(await store.ledger.commit(commit)).toBe('done')
    expect(await store.ledger.commit({ ...commit, ...other })).toBe('refused')
    expect(await store.ledger.commit(structuredClone(commit))).toBe('done')
    expect(await store.ledger.minutes(stream)).toEqual([countMinute(10, packed(1, 3))])
  })
})
