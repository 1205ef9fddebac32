import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../src/domain/failure.ts'
import { buildCommit, buildHolder, buildStream } from '../../contract/checkpoint-store/builders.ts'
import { ledgerStores } from './opened.ts'

const openStore = await ledgerStores()

const stream = buildStream()
const [one, two] = [buildHolder('one'), buildHolder('two')]

describe('the fence of a stream', () => {
  it('comes with no checkpoint and the id of the store at first, and is higher each time', async () => {
    const { store } = await openStore()
    const taken = await store.ledger.take(stream, one)
    expect(taken).toEqual({ fence: expect.any(Number), checkpoint: undefined, storeId: store.id })
    expect(store.id).not.toBe('')
    expect((await store.ledger.take(stream, one)).fence).toBeGreaterThan(taken.fence)
  })

  it('stays with a live holder, also for another process, and the answer says until when', async () => {
    const { store, clock, reopen } = await openStore()
    const again = await reopen()
    const { fence } = await store.ledger.take(stream, one)
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

  it.each([
    ['a heartbeat', true],
    ['a commit', true],
    ['a refused commit', false],
  ] as const)('after %s stays with its holder: %s', async (what, stays) => {
    const { store, clock } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    await clock.advance(15_000)
    if (what === 'a heartbeat') await store.ledger.heartbeat(one)
    else await store.ledger.commit(buildCommit(stream, fence, what === 'a commit' ? 0 : 7))
    await clock.advance(15_000)
    const next = await store.ledger.take(stream, two).catch((error: unknown) => error)
    expect(isFailure(next, 'held')).toBe(stays)
  })

  it('passes at once from one owner of the schedule lock to the next, and to no other live holder', async () => {
    const { store } = await openStore()
    const [run, next] = [buildHolder('run', true), buildHolder('next', true)]
    await store.ledger.take(stream, run)
    await expect(store.ledger.take(stream, one)).rejects.toMatchObject({ code: 'held' })
    await store.ledger.take(stream, next)
    const other = buildStream({ zone: 102 })
    await store.ledger.take(other, one)
    await expect(store.ledger.take(other, next)).rejects.toMatchObject({ code: 'held' })
  })

  it('is not released under a lost fence', async () => {
    const { store } = await openStore()
    const { fence } = await store.ledger.take(stream, one)
    await store.ledger.take(stream, one)
    await store.ledger.release(stream, fence)
    await expect(store.ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
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
