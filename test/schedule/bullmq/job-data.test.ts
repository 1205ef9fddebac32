import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJobData } from '../../../src/schedule/bullmq/queues.ts'

const good = { zone: 101, day: '2026-11-20', sink: 'archive', priority: 'live', reason: 'more' }

describe('the data of a job', () => {
  it('is read as it was written, in the priority of the queue that it lay in', () => {
    expect(readJobData(good, 'live')).toEqual(good)
    expect(readJobData(good, 'backfill')).toEqual({ ...good, priority: 'backfill' })
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
    expect(readJobData({ ...good, trace }, 'live')).toEqual({ ...good, trace })
  })

  it.each([
    ['nothing, as after an eviction', undefined],
    ['null', null],
    ['text', 'zone 101'],
    ['no zone', { ...good, zone: undefined }],
    ['a zone that is text', { ...good, zone: '101' }],
    ['a zone that is no whole number', { ...good, zone: 1.5 }],
    ['a day that is none', { ...good, day: '2026-02-30' }],
    ['no sink', { ...good, sink: '' }],
    ['a sink without end', { ...good, sink: 'x'.repeat(10_000) }],
  ])('is refused: %s', (_, data) => {
    expect(readJobData(data, 'live')).toMatchObject({ error: expect.any(String) as string })
  })

  it('replaces an unknown reason by the usual one, and leaves out an invalid trace', () => {
    const strange = { ...good, reason: 'because', trace: { traceparent: 7, baggage: 'x'.repeat(5_000) } }
    expect(readJobData(strange, 'live')).toEqual({ ...good, reason: 'due' })
  })

  it('is read or refused for any content, and never throws', () => {
    const part = fc.oneof(fc.jsonValue(), fc.constantFrom(101, '2026-11-20', 'archive', 'due'))
    const data = fc.oneof(
      fc.anything(),
      fc.record({ zone: part, day: part, sink: part, reason: part, trace: part }, { requiredKeys: [] }),
    )
    fc.assert(
      fc.property(data, (some) => {
        const read = readJobData(some, 'live')
        if ('error' in read) return
        expect(Number.isSafeInteger(read.zone)).toBe(true)
        expect(read.day).toMatch(/^\d{4}-\d\d-\d\d$/)
        expect(
          Object.keys(read).every((key) =>
            ['zone', 'day', 'sink', 'priority', 'reason', 'trace'].includes(key),
          ),
        ).toBe(true)
      }),
    )
  })
})
