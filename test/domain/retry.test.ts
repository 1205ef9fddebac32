import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Trouble } from '../../src/domain/checkpoint.ts'
import { Failure, type FailureKind } from '../../src/domain/failure.ts'
import { troubleAfter, troubleAfterPage } from '../../src/domain/retry.ts'
import { at } from './builders.ts'

const kinds = fc.constantFrom<FailureKind>('retry', 'wait', 'refuse', 'stop')
const longestMs = { retry: 60_000, wait: 60_000, refuse: 3_600_000, stop: 300_000 }

function failTimes(failure: Failure, times: number, random: () => number): Trouble[] {
  const troubles: Trouble[] = []
  for (let count = 0; count < times; count++)
    troubles.push(troubleAfter(troubles.at(-1), failure, { nowMs: at(count) }, random))
  return troubles
}

describe('back-off', () => {
  it('grows with jitter up to a limit: an hour at most', () => {
    fc.assert(
      fc.property(
        kinds,
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (kind, times, random) => {
          if (kind === 'cancelled') return
          const troubles = failTimes(new Failure(kind, 'network', 'x'), times, () => random)
          const waits = troubles.map(({ retryAtMs }, index) => retryAtMs - at(index))
          expect(Math.min(...waits)).toBeGreaterThanOrEqual(500)
          expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs[kind])
          expect(waits).toEqual(waits.toSorted((left, right) => left - right))
          const notBeforeMs = at(times)
          const named = troubleAfter(
            undefined,
            new Failure(kind, 'throttled', 'x'),
            { nowMs: at(0), notBeforeMs },
            () => 0,
          )
          expect(named.retryAtMs).toBeGreaterThanOrEqual(notBeforeMs)
          if (times > 20) expect(waits.at(-1)).toBeGreaterThanOrEqual(longestMs[kind] / 2)
          expect(troubles.at(-1)).toMatchObject({ count: times, sinceMs: at(0) })
        },
      ),
    )
  })

  it('is the time that the destination named, also repeatedly', () => {
    const failure = new Failure('wait', 'throttled', 'x')
    const [before] = failTimes(failure, 20, () => 0.9).slice(-1)
    const later = (notBeforeMs: number) =>
      troubleAfter(before, failure, { nowMs: at(30), notBeforeMs }, () => 0.9).retryAtMs
    expect(later(at(30) + 3_000)).toBe(at(30) + 3_000)
    // Hardly any time: own patience stays.
    expect(later(at(30) + 100)).toBeGreaterThan(at(30) + 30_000)
  })

  it('is a minute at most where dead letters have no room, since a drop or a replay does not tell the stream', () => {
    const full = failTimes(new Failure('stop', 'dead_letters_full', 'x'), 20, () => 0.9)
    expect(full.at(-1)!.retryAtMs - at(19)).toBeLessThanOrEqual(60_000)
  })

  it('starts again with another failure', () => {
    const [first] = failTimes(new Failure('retry', 'network', 'x'), 5, () => 0).slice(-1)
    const other = troubleAfter(first, new Failure('retry', 'timeout', 'y'), { nowMs: at(9) }, () => 0)
    expect(other).toMatchObject({ code: 'timeout', message: 'y', count: 1, sinceMs: at(9), atMs: at(9) })
  })

  it('from a listing keeps growing through other results', () => {
    const step = fc.constantFrom('guard', 'network', 'timeout', 'page')
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let trouble: Trouble | undefined
        let guards = 0
        for (const [index, each] of steps.entries()) {
          const when = { nowMs: at(index) }
          if (each === 'page') trouble = troubleAfterPage(trouble)
          else if (each === 'guard') {
            trouble = troubleAfter(trouble, new Failure('refuse', 'scan_guarded', 'x'), when, () => 0)
            expect(trouble).toMatchObject({ code: 'scan_guarded', count: ++guards })
            expect(trouble.retryAtMs - at(index)).toBe(Math.min(3_600_000, 30_000 * 2 ** (guards - 1)) / 2)
          } else trouble = troubleAfter(trouble, new Failure('retry', each, 'y'), when, () => 0)
        }
        if (steps.at(-1) === 'page') expect(trouble?.code).toBe(guards > 0 ? 'scan_guarded' : undefined)
      }),
    )
  })
})
