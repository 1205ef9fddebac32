import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bySink } from '../../src/domain/event/delivery.ts'
import { isFailure } from '../../src/domain/failure.ts'
import type { Commit, Store } from '../../src/ports/store.ts'
import { runAgainstModel, steps } from './checkpoint-store/against-model.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildHolder,
  buildStream,
  commitOnce,
  packed,
} from './checkpoint-store/builders.ts'
import type { OpenedStore } from './checkpoint-store/opened-store.ts'

/**
 * What depends on what a store keeps its checkpoints in; the rules of the ledger are shown in test/state/ledger. `runs`,
 * of random steps on the store and on a model of it, is a matter of how quick the store is.
 */
export function checkpointStoreContract(name: string, open: () => Promise<OpenedStore>, runs: number): void {
  describe(`${name} as a store`, () => {
    let opened: OpenedStore
    let store: Store
    const stream = buildStream()
    const holder = buildHolder('one')
    beforeEach(async () => {
      opened = await open()
      ;({ store } = opened)
    })
    afterEach(() => opened.close())

    it('gives the same results as the model under random operations', async () => {
      const property = fc.asyncProperty(steps, async (some) => {
        const one = await open()
        try {
          await runAgainstModel(one, some)
        } finally {
          await one.close()
        }
      })
      await fc.assert(property, { numRuns: runs })
    })

    it('keeps any text, and is the same when it is opened again', async () => {
      const odd = 'é\u0000"\\\n\u{1f600}\ud800'
      const trouble = { kind: 'retry', code: 'network', count: 1, sinceMs: 1, atMs: 1, retryAtMs: 2 } as const
      const more = { trouble: { ...trouble, message: odd } }
      const ids = ['a\u0000b', 'a\u0000c', '\ud800', '\udfff', '"', 'é', '']
      const deadLetters = ids.map((id) => buildDeadLetter({ id, answer: odd }))
      const seen = new Map([[1, packed(1, 700)]])
      const fence = await commitOnce(store, stream, { with: more, deadLetters, seen })
      await store.close()
      const again = await opened.reopen()
      expect(again.id).toBe(store.id)
      expect(await again.ledger.read(stream)).toEqual(buildCheckpoint(stream, 1, more))
      expect(await again.catalogue.checkpoints()).toEqual([buildCheckpoint(stream, 1, { ...more, mark: [] })])
      expect(await again.ledger.loadSeen(stream, [1])).toEqual(seen)
      const found = await again.deadLetters.list()
      expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort())
      expect(found.every(({ answer }) => answer === odd)).toBe(true)
      expect((await again.ledger.take(stream, holder)).fence).toBeGreaterThan(fence)
    })

    it('takes 60,000 dead letters in one commit, and removes them by one', async () => {
      const roomy = await opened.reopen(100_000_000)
      const deadLetters = Array.from({ length: 60_000 }, (_, index) => buildDeadLetter({ id: `e${index}` }))
      const { fence } = await roomy.ledger.take(stream, holder)
      // On a loaded machine an answer may come too late; the same commit is then told to be done.
      const commit = async (more: Partial<Commit>, based: number) => {
        const own = buildCommit(stream, fence, based, more)
        for (let tries = 1; ; tries++) {
          try {
            return await roomy.ledger.commit(own)
          } catch (error) {
            if (tries === 3 || !isFailure(error, 'store_unavailable')) throw error
          }
        }
      }
      expect(await commit({ deadLetters }, 0)).toBe('done')
      expect(bySink(await roomy.deadLetters.counts())).toMatchObject([{ count: 60_000 }])
      const removedDeadLetters = deadLetters.map(({ id }) => ({ id }))
      expect(await commit({ removedDeadLetters }, 1)).toBe('done')
      expect(await roomy.deadLetters.counts()).toEqual([])
    })

    it('never has more dead letters of a sink than fit, whoever adds them', async () => {
      const stores = [store, await opened.reopen(), await opened.reopen()]
      const add = (zone: number) =>
        commitOnce(stores[zone % 3]!, buildStream({ zone }), {
          deadLetters: [buildDeadLetter({ zone, event: 'x'.repeat(4_000) })],
        })
      const answers = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(add))
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
      expect(await store.deadLetters.list()).toHaveLength(2)
      for (const { zone, id } of await stores[1]!.deadLetters.list())
        await commitOnce(stores[2]!, buildStream({ zone }), { removedDeadLetters: [{ id }] })
      for (const zone of [7, 8]) await add(zone)
      const message = expect.stringContaining('of sink archive') as string
      await expect(add(9)).rejects.toMatchObject({ kind: 'stop', code: 'dead_letters_full', message })
    })
  })
}
