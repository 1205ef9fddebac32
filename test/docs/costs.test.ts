import { expect, test } from 'vitest'
import { changedCosts, measureCosts, readCosts } from '../bench/cost/costs.ts'

test('the docs say how many bytes an event takes in each format and preset', async () => {
  const changed = changedCosts(await measureCosts(), readCosts())
  expect(changed, 'docs/reference/cost.json is old: run npm run docs').toEqual([])
})
