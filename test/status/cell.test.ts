import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { endOf, shiftDay } from '../../src/domain/day.ts'
import { cellStateOf, type Cell } from '../../src/status/map.ts'
import { at, buildCheckpoint, buildRecord, hourMs, policy, stream, today } from '../domain/builders.ts'
import { trouble } from '../server/page/story.ts'

const time = { nowMs: at(14), policy }
const yesterday = shiftDay(today, -1)
const old = shiftDay(today, -5)

const read = { counters: { pages: 1, events: 5, delivered: 5, duplicates: 0, late: 0, deadLetters: 0 } }

function stateOf(day: typeof today, checkpoint: Partial<Checkpoint> | undefined, more: Partial<Cell> = {}) {
  const cell: Cell = { day, planned: undefined, checkpoint: undefined, gaps: 0, deadLetters: 0, ...more }
  if (checkpoint === undefined) return cellStateOf(cell, time)
  return cellStateOf(
    { ...cell, checkpoint: buildCheckpoint({ stream: { ...stream, day }, ...checkpoint }) },
    time,
  )
}

describe('the state of a day on the map', () => {
  const settled = { ...read, caughtUpAtMs: endOf(yesterday) + hourMs, lastFull: buildRecord() }
  const complete = { ...read, ended: { as: 'complete', atMs: at(1) } } as const
  const failing = { trouble: trouble('no route', at(13)) }

  it('is open while today is polled, and unread before its first page', () => {
    expect(stateOf(today, read)).toBe('open')
    expect(stateOf(today, {})).toBe('unread')
  })

  it('is settling once a past day was read to its end, and unread before', () => {
    expect(stateOf(yesterday, settled)).toBe('settling')
    expect(stateOf(yesterday, { ...settled, caughtUpAtMs: endOf(yesterday) - 1 })).toBe('unread')
  })

  it('is complete or expired like the stream', () => {
    expect(stateOf(old, complete)).toBe('complete')
    expect(stateOf(old, { ...read, ended: { as: 'expired', atMs: at(1) } })).toBe('expired')
  })

  it('is failing before anything else, unless the stream has ended', () => {
    expect(stateOf(today, { ...read, ...failing }, { gaps: 1, deadLetters: 1 })).toBe('failing')
    expect(stateOf(old, { ...complete, ...failing })).toBe('complete')
  })

  it('is a gap if events can no longer be read, with or without a checkpoint', () => {
    expect(stateOf(old, complete, { gaps: 1, deadLetters: 2 })).toBe('gap')
    expect(stateOf(old, undefined, { gaps: 1 })).toBe('gap')
  })

  it('is dead letters if the sink refused events of a day that was read', () => {
    expect(stateOf(old, complete, { deadLetters: 2 })).toBe('dead_letters')
    expect(stateOf(old, undefined, { deadLetters: 2 })).toBe('dead_letters')
    expect(stateOf(yesterday, {}, { deadLetters: 2 })).toBe('unread')
  })

  it('is none for a day that was never planned', () => {
    expect(stateOf(old, undefined)).toBeUndefined()
  })
})
