import { expect, test } from 'vitest'
import { changedCosts, measureCosts, readCosts } from '../bench/cost/costs.ts'

test('the docs say how many bytes an event takes in each format and preset', async () => {
  const changed = changedCosts(await measureCosts(), readCosts())
  expect(changed, 'docs/reference/cost.json is old: run npm run docs').toEqual([])
})

test('another size before compression is a change, a little more or less after it is none', () => {
  const kept = readCosts()
  const { plain, compressed } = kept.formats.native
  const changedBy = (cost: typeof kept.formats.native) =>
    changedCosts({ ...kept, formats: { ...kept.formats, native: cost } }, kept)
  expect(changedBy({ plain: plain + 1, compressed })).toEqual(['native'])
  expect(changedBy({ plain, compressed: compressed * 1.2 })).toEqual(['native'])
  expect(changedBy({ plain, compressed: compressed * 1.02 })).toEqual([])
})
