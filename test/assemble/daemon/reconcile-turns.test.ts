import { beforeEach, expect, test } from 'vitest'
import {
  createReconcileTurns,
  type ReconcileTurns,
} from '../../../src/maintenance/housekeeping/reconcile-sinks.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'

const never = new AbortController().signal
let clock: FakeClock
let calls: string[]
let during: () => void
let turns: ReconcileTurns

beforeEach(() => {
  clock = createFakeClock()
  calls = []
  during = () => undefined
  const reconciler = {
    reconcileAll: async () => {
      calls.push('all')
      during()
    },
    reconcileFailed: async () => void calls.push('failed'),
  }
  turns = createReconcileTurns(reconciler, clock)
})

test('all streams are reconciled at first and every ten minutes, failed ones in between', async () => {
  for (const ms of [0, 1_000, 598_999, 1]) {
    await clock.advance(ms)
    await turns.turn(never)
  }
  expect(calls).toEqual(['all', 'failed', 'failed', 'all'])
})

test('streams that an error of the store kept from being reached do not wait ten minutes', async () => {
  during = () => {
    throw new Failure('retry', 'store_unavailable', 'away')
  }
  await expect(turns.turn(never)).rejects.toThrow('away')
  during = () => undefined
  await turns.turn(never)
  await turns.turn(never)
  expect(calls).toEqual(['all', 'all', 'failed'])
})

test('a store that may be an older one has all reconciled again, also if that shows during the work', async () => {
  during = () => turns.allAgain()
  await turns.turn(never)
  during = () => undefined
  await turns.turn(never)
  await turns.turn(never)
  expect(calls).toEqual(['all', 'all', 'failed'])
})
