import { expect, test } from 'vitest'
import { failureLines } from '../../src/commands/audit/findings.ts'
import { Failure } from '../../src/domain/failure.ts'
import { detailsOf } from '../../src/status/day.ts'
import { shiftDay } from '../../src/domain/day.ts'
import { today } from '../domain/builders.ts'
import { story } from '../server/page/story.ts'
import { depsOf } from '../server/page/world.ts'

/** The store fails after the first day. */
function readWith(error: Error) {
  const deps = depsOf(story())
  let reads = 0
  deps.store.ledger.minutes = async () => {
    if (reads++ > 0) throw error
    return []
  }
  const zone = { id: 101, name: 'shop', account: 'default' }
  const findings = [today, shiftDay(today, -1)].map((day) => ({ zone, sink: 'siem', day }))
  return detailsOf(findings, { ...deps, version: '1.0.0' })
}

test('a store that fails while the details of a report are read costs only the rest of them', async () => {
  const failure = new Failure('retry', 'store_unavailable', 'Redis at 127.0.0.1:6379: connection refused')
  const details = await readWith(failure)
  expect(details.details).toHaveLength(1)
  expect(failureLines({ days: [], findings: [], ...details })).toEqual([
    'the report shows 1 day in detail, and lacks the others: Redis at 127.0.0.1:6379: connection refused; audit again with another --report',
  ])
})

test('an error that is none of the store ends the audit', async () => {
  await expect(readWith(new Error('a bug'))).rejects.toThrow('a bug')
})
