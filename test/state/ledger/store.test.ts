import { expect, it } from 'vitest'
import type { Day } from '../../../src/domain/day.ts'
import type { Gap } from '../../../src/domain/gap.ts'
import { createMemoryRecords, type MemoryState } from '../../../src/state/memory/records.ts'
import { openLedger } from '../../../src/state/ledger/store.ts'
import type { Store } from '../../../src/ports/store.ts'
import { checkpointStoreContract, checkpointStoreProperty } from '../../contract/checkpoint-store.contract.ts'
import { contractDeadLetterMaxBytes, type OpenedStore } from '../../contract/checkpoint-store/opened-store.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'

async function open(): Promise<OpenedStore> {
  const clock = createFakeClock()
  const state: MemoryState = new Map()
  const opened: Store[] = []
  const reopen = async (deadLetterMaxBytes = contractDeadLetterMaxBytes): Promise<Store> => {
    const store = await openLedger({
      records: createMemoryRecords(clock, state),
      clock,
      deadLetterMaxBytes,
      place: 'memory',
    })
    opened.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of opened) await store.close()
  }
  return { store: await reopen(), reopen, clock, close }
}

checkpointStoreContract('memory', open)
checkpointStoreProperty('memory', open, 200)

it('keeps the copies of cut lines that a gap names, also once it is acknowledged', async () => {
  const { store, close } = await open()
  const gap: Gap = {
    zone: 1,
    sink: 'archive',
    day: '2026-11-20' as Day,
    from: 1,
    to: 2,
    reason: 'unreadable',
    recordedAt: 3,
    files: ['/var/my events/.shieldlog/aside/zone=1.from-0'],
  }
  await store.catalogue.addGaps([gap])
  expect(await store.catalogue.gaps()).toEqual([gap])
  await store.catalogue.acknowledgeGaps([gap], 4)
  expect(await store.catalogue.gaps()).toEqual([{ ...gap, acknowledgedAt: 4 }])
  await store.catalogue.addGaps([gap])
  expect(await store.catalogue.gaps()).toEqual([{ ...gap, acknowledgedAt: 4 }])
  // Another copy raises the alarm again.
  const files = ['/var/my events/.shieldlog/aside/zone=1.from-9']
  await store.catalogue.addGaps([{ ...gap, files }])
  expect(await store.catalogue.gaps()).toEqual([{ ...gap, files: [...gap.files!, ...files] }])
  await close()
})
