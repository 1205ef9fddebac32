import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { runAgainstModel } from './checkpoint-store/against-model.ts'
import { auditsContract } from './checkpoint-store/audits.contract.ts'
import { fenceContract } from './checkpoint-store/fence.contract.ts'
import { commitContract } from './checkpoint-store/commit.contract.ts'
import { seenContract } from './checkpoint-store/seen.contract.ts'
import { deadLettersContract } from './checkpoint-store/dead-letters.contract.ts'
import { backfillsContract } from './checkpoint-store/backfills.contract.ts'
import { catalogueContract } from './checkpoint-store/catalogue.contract.ts'
import { renamedSinkContract } from './checkpoint-store/renamed-sink.contract.ts'
import { pruningContract } from './checkpoint-store/pruning.contract.ts'
import { steps } from './checkpoint-store/steps.ts'
import type { OpenedStore } from './checkpoint-store/opened-store.ts'

type Suite = (opened: () => OpenedStore) => void

/** A suite for each port of a store. */
const suites: Readonly<Record<string, readonly Suite[]>> = {
  'its ledger': [fenceContract, commitContract, seenContract, auditsContract],
  'its catalogue': [catalogueContract],
  'its dead letters': [deadLettersContract],
  'its backfills': [backfillsContract],
  'its upkeep': [renamedSinkContract, pruningContract],
}

/** The behaviours of every store, whatever it keeps its checkpoints in. */
export function checkpointStoreContract(name: string, open: () => Promise<OpenedStore>): void {
  describe.each(Object.entries(suites))(`${name} as a store: %s`, (_, own) => {
    let opened: OpenedStore
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.close())
    for (const suite of own) suite(() => opened)
  })
}

/** Random steps, on the store and on a model of it. `runs` is a matter of how quick the store is. */
export function checkpointStoreProperty(name: string, open: () => Promise<OpenedStore>, runs: number): void {
  describe(`${name} as a checkpoint store`, () => {
    it('gives the same results as the model under random operations', async () => {
      const property = fc.asyncProperty(steps, async (some) => {
        const opened = await open()
        try {
          await runAgainstModel(opened, some)
        } finally {
          await opened.close()
        }
      })
      await fc.assert(property, { numRuns: runs })
    })
  })
}
