import { describe, expect, test } from 'vitest'
import { relist } from '../../src/domain/zone-list.ts'

const listed = (...ids: number[]) => ids.map((id) => ({ id, name: '' }))
const after = (nowMs: number, over: readonly number[] = [], elsewhere: readonly number[] = []) => ({
  nowMs,
  isOver: ({ id }: { id: number }) => over.includes(id),
  elsewhere: new Set(elsewhere),
})
const nothing = { added: [], left: [], retired: [] }

describe('a listing', () => {
  test('adds zones, in the order of their ids', () => {
    expect(relist(listed(101), listed(103, 102, 101), after(1))).toEqual({
      ...nothing,
      zones: listed(101, 102, 103),
      added: listed(103, 102),
    })
  })

  test('keeps a zone that it leaves out, with the time of the first listing that did so', () => {
    const first = relist(listed(101, 102), listed(101), after(1))
    const zones = [...listed(101), { id: 102, name: '', leftAtMs: 1 }]
    expect(first).toEqual({ ...nothing, zones, left: listed(102) })
    expect(relist(first.zones, listed(101), after(2))).toEqual({ ...nothing, zones })
  })

  test('retires a zone that is over, but never the first time that the zone is left out', () => {
    const first = relist(listed(101, 102), listed(101), after(1, [101, 102]))
    expect(first.retired).toEqual([])
    const second = relist(first.zones, listed(101), after(2, [101, 102]))
    expect(second).toEqual({
      ...nothing,
      zones: listed(101),
      retired: [{ id: 102, name: '', leftAtMs: 1 }],
    })
  })

  test('adds a zone again that is listed again', () => {
    const before = [{ id: 101, name: '', leftAtMs: 1 }]
    expect(relist(before, listed(101), after(2))).toEqual({
      ...nothing,
      zones: listed(101),
      added: listed(101),
    })
  })

  test('moves a zone to another account that has it, and retires nothing', () => {
    expect(relist(listed(101, 102), listed(101), after(1, [], [102]))).toEqual({
      ...nothing,
      zones: listed(101),
    })
  })

  test('renames zones', () => {
    const shop = [{ id: 101, name: 'shop' }]
    expect(relist(listed(101), shop, after(1))).toEqual({ ...nothing, zones: shop })
  })
})
