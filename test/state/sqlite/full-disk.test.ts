import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Store } from '../../../src/ports/store.ts'
import { buildCommit, buildHolder, buildStream, packed } from '../../contract/checkpoint-store/builders.ts'
import { smallDisk } from '../../setup/small-disk.ts'
import { openSqliteStore } from '../../setup/stores.ts'

const stream = buildStream()

async function storeOn(folder: string): Promise<Store> {
  const store = await openSqliteStore({
    path: join(folder, 'store.db'),
    clock: systemClock,
    deadLetterMaxBytes: 4_000_000,
  })
  onTestFinished(() => store.close())
  return store
}

/** A commit of so many events. */
async function commitEvents({ ledger }: Store, count: number): Promise<unknown> {
  const { fence, checkpoint } = await ledger.take(stream, buildHolder('one', true))
  const seen = new Map([[0, packed(0, count)]])
  return ledger.commit(buildCommit(stream, fence, checkpoint?.commit ?? 0, { seen }))
}

test('a store on a full disk is not writable until as much is written again as failed', async ({ skip }) => {
  const disk = smallDisk(4)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  const store = await storeOn(disk)
  await commitEvents(store, 10)
  expect([store.writes.failure(), store.writes.failedAtMs()]).toEqual([undefined, undefined])
  const ballast = join(disk, 'ballast')
  expect(() => writeFileSync(ballast, Buffer.alloc(4_194_304))).toThrow('ENOSPC')
  await expect(commitEvents(store, 20_000)).rejects.toMatchObject({
    code: 'store_refuses',
    message: expect.stringContaining('free space on its disk'),
  })
  const { sinceMs, message } = store.writes.failure()!
  expect(message).toContain('free space on its disk')
  // It can be read, and a trial does not throw. What is small may be written, and changes nothing.
  expect(await store.ledger.read(stream)).toBeDefined()
  await store.writes.tryOne()
  await store.ledger.heartbeat(buildHolder('one', true)).catch(() => undefined)
  expect(store.writes.failure()).toMatchObject({ sinceMs })
  rmSync(ballast)
  await store.ledger.heartbeat(buildHolder('one', true))
  expect(store.writes.failure()).toBeUndefined()
  expect(store.writes.failedAtMs()).toBeGreaterThanOrEqual(sinceMs)
  expect(await commitEvents(store, 20_000)).toBe('done')
})

test('a trial finds that a store cannot be written before a commit does', async ({ skip }) => {
  const disk = smallDisk(1)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  const store = await storeOn(disk)
  await store.writes.tryOne()
  expect(store.writes.failure()).toBeUndefined()
  expect(() => writeFileSync(join(disk, 'ballast'), Buffer.alloc(1_048_576))).toThrow('ENOSPC')
  for (let tries = 0; tries < 20 && store.writes.failure() === undefined; tries++) await store.writes.tryOne()
  expect(store.writes.failure()).toBeDefined()
})

test('a disk without inodes is named as such', async ({ skip }) => {
  const disk = smallDisk(4, 1)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  await expect(storeOn(disk)).rejects.toMatchObject({
    code: 'store_refuses',
    message: expect.stringMatching(/no inodes left \(ENOSPC\).*df -i/),
  })
})
