import { assert, constantFrom, integer, array, oneof, property, record, constant } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Conditions } from '../../src/telemetry/conditions.ts'

const tenMinutesMs = 600_000

const members = constantFrom('a', 'a', 'a', 'b', 'c')
/** Mostly seconds, so that things come and go within ten minutes; now and then minutes. */
const waits = oneof(
  { arbitrary: integer({ min: 0, max: 3000 }), weight: 9 },
  { arbitrary: integer({ min: 0, max: 400_000 }), weight: 1 },
)
const step = oneof(
  record({ does: constant('report' as const), group: constantFrom('x', 'y'), member: members }),
  record({ does: constant('leave' as const), member: members }),
  record({ does: constant('end' as const) }),
  record({
    does: constant('wait' as const),
    ms: waits,
  }),
)

interface Line {
  readonly atMs: number
  readonly phase: unknown
}

describe('conditions with random reports', () => {
  it('begin before they last, end after they began, and never flood the log', () => {
    assert(
      property(array(step, { maxLength: 200, size: 'max' }), (steps) => {
        let nowMs = 0
        const told = new Map<string, Line[]>([
          ['x', []],
          ['y', []],
        ])
        const conditions = new Conditions({
          nowMs: () => nowMs,
          tell: (_level, _event, _message, fields) =>
            told.get(String(fields?.['group']))!.push({ atMs: nowMs, phase: fields?.['phase'] }),
        })
        /** The model: which member has which condition. */
        const place = new Map<string, string>()
        for (const one of steps) {
          if (one.does === 'wait') nowMs += one.ms
          if (one.does === 'leave') {
            conditions.leave('StreamFailed', one.member)
            place.delete(one.member)
          }
          if (one.does === 'end') {
            conditions.leave('StreamFailed')
            place.clear()
          }
          if (one.does === 'report') {
            const { group, member } = one
            conditions.report('StreamFailed', 'warn', {
              group,
              member,
              message: 'fails',
              about: group,
              fields: { group },
              hasEnd: true,
              fadesAfterMs: Number.POSITIVE_INFINITY,
            })
            place.set(member, group)
          }
          conditions.turn()
          for (const group of told.keys())
            expect(conditions.stands('StreamFailed', group)).toBe([...place.values()].includes(group))
        }
        for (const lines of told.values()) {
          for (const [index, { atMs, phase }] of lines.entries()) {
            const before = lines[index - 1]
            if (phase === 'begins') expect(before?.phase ?? 'ends').toBe('ends')
            if (phase === 'ends') expect(before).toBeDefined()
            if (phase === 'lasts') expect(atMs - before!.atMs).toBeGreaterThanOrEqual(tenMinutesMs)
            const recent = lines.filter((line) => line.atMs > atMs - tenMinutesMs && line.atMs <= atMs)
            expect(recent.filter((line) => line.phase === 'begins').length).toBeLessThanOrEqual(3)
            expect(recent.length).toBeLessThanOrEqual(8)
          }
        }
      }),
      { numRuns: 150 },
    )
  })
})
