import { expect, test } from 'vitest'
import { openMemoryStore } from '../../setup/stores.ts'
import { buildStream, commitOnce, complete, nothingOld } from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'

const stream = buildStream()
const large = 2 ** 40

test('the sizes of objects are kept beside the checkpoint, until their stream is pruned or begins anew', async () => {
  const store = await openMemoryStore({ clock: createFakeClock(), deadLetterMaxBytes: 1_000 })
  const commit = (number: number, bytes: number) => commitOnce(store, stream, { object: { number, bytes } })
  const sizes = Array.from({ length: 500 }, (_, index) => (index % 7 === 0 ? large + index : index))
  for (const [index, bytes] of sizes.entries()) await commit(index + 1, bytes)
  await commitOnce(store, stream)
  expect(await store.ledger.objectSizes(stream)).toEqual(sizes)
  expect(await store.ledger.objectSizes({ ...stream, zone: 7 })).toEqual([])
  await commit(1, 9)
  expect(await store.ledger.objectSizes(stream)).toEqual([9])
  await commitOnce(store, stream, { with: complete })
  await store.upkeep.prune([stream], nothingOld)
  expect(await store.ledger.objectSizes(stream)).toEqual([])
})
