import { expect, test } from 'vitest'
import { failureLines } from '../../src/commands/audit/verdict.ts'
import { Failure } from '../../src/domain/failure.ts'
import { detailsOf, type AuditedDay } from '../../src/status/audited-days.ts'

test('a store that fails while the details of a report are read costs only the rest of them', async () => {
  const day = {} as AuditedDay
  async function* failing() {
    yield day
    throw new Failure('retry', 'store_unavailable', 'Redis at 127.0.0.1:6379: connection refused')
  }
  const details = await detailsOf(failing())
  expect(details.details).toEqual([day])
  expect(failureLines({ days: [], findings: [], gaps: [], ...details })).toEqual([
    'the report shows 1 day in detail, and lacks the others: Redis at 127.0.0.1:6379: connection refused; audit again with another --report',
  ])
})

test('an error that is none of the store ends the audit', async () => {
  const failing = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('a bug')) }) }
  await expect(detailsOf(failing)).rejects.toThrow('a bug')
})
