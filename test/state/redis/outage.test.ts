import { describe, expect, it } from 'vitest'
import type { Commit, Store } from '../../../src/ports/store.ts'
import {
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  nothingOld,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { redisServerAvailable, startRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { openAt, stateAt } from './opening.ts'

const stream = buildStream()
const holder = buildHolder('one')
const away = { name: 'Failure', kind: 'retry', code: 'store_unavailable' }

/** One call for each way to ask the store: several records, their changes, pages of them, and a write. */
const calls: Record<string, (store: Store) => Promise<unknown>> = {
  take: (store) => store.ledger.take(stream, holder),
  commit: (store) =>
    store.ledger.commit(buildCommit(stream, 1, 0, { deadLetters: [buildDeadLetter()], gaps: [buildGap()] })),
  loadSeen: (store) => store.ledger.loadSeen(stream, [7]),
  checkpoints: (store) => store.catalogue.checkpoints(),
  gaps: (store) => store.catalogue.gaps(),
  storeZoneList: (store) => store.catalogue.storeZoneList({ account: 'default', listedAtMs: 1, zones: [] }),
  prune: (store) => store.upkeep.prune([], nothingOld),
}

/** All at once; a call that hangs fails the test by its time limit. */
async function expectAway(store: Store): Promise<void> {
  const answers = await Promise.allSettled(Object.values(calls).map((call) => call(store)))
  for (const [index, name] of Object.keys(calls).entries())
    expect(answers[index], name).toMatchObject({ status: 'rejected', reason: away })
}

/** Sends the same commit until it is answered, as a pump does. */
function persist(store: Store, commit: Commit): Promise<string> {
  const answer = () => store.ledger.commit(commit).catch(() => undefined)
  return waitFor(answer, { what: 'an answer', everyMs: 5 })
}

describe.skipIf(!redisServerAvailable())('a Redis that', () => {
  it('dies makes every call fail within bounds, and the store works by itself when it is back', async () => {
    const server = await startRedis({ appendOnly: true })
    const store = await openAt(stateAt(server.url))
    const { fence } = await store.ledger.take(stream, holder)
    await store.ledger.commit(buildCommit(stream, fence, 0))
    await server.kill()
    await expectAway(store)
    await server.restart()
    expect(await persist(store, buildCommit(stream, fence, 1))).toBe('done')
    // Nothing of what was given up is carried out after all.
    expect((await store.ledger.take(stream, holder)).fence).toBeGreaterThan(fence)
    expect(await store.catalogue.gaps()).toEqual([])
  })

  it('hangs makes every call fail within bounds, and the store works by itself when it goes on', async () => {
    const server = await startRedis({ appendOnly: true })
    const store = await openAt(stateAt(server.url))
    const { fence } = await store.ledger.take(stream, holder)
    await server.pause()
    await expectAway(store)
    await expectAway(store)
    await server.resume()
    const latest = await waitFor(() => store.ledger.take(stream, holder), {
      what: 'the fence',
    })
    expect(latest.fence).toBeGreaterThan(fence)
    const commit = buildCommit(stream, latest.fence, latest.checkpoint?.commit ?? 0)
    expect(await persist(store, commit)).toBe('done')
  })

  it('restarts quickly fails no call', async () => {
    const server = await startRedis({ appendOnly: true })
    const store = await openAt(stateAt(server.url))
    const { fence } = await store.ledger.take(stream, holder)
    const restarted = server.restart()
    const answer = store.ledger.commit(buildCommit(stream, fence, 0))
    await restarted
    expect(await answer).toBe('done')
  })

  it('says "done" when the answer to a commit was lost', async () => {
    const server = await startRedis({ appendOnly: true })
    const store = await openAt(stateAt(server.url))
    const { fence } = await store.ledger.take(stream, holder)
    const commit = buildCommit(stream, fence, 0, { seen: new Map([[7, packed(1, 2)]]) })
    await server.pause()
    // It lies in the server's buffers and is carried out once the server goes on, long after the call was given up.
    await expect(store.ledger.commit(commit)).rejects.toMatchObject(away)
    await server.resume()
    expect(await persist(store, commit)).toBe('done')
    expect((await store.ledger.loadSeen(stream, [7])).get(7)).toEqual(packed(1, 2))
  })
})
