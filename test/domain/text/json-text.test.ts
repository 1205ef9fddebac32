import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonText } from '../../../src/domain/text/json.ts'

test('JSON text is the output of JSON.stringify, also for values that are too deep for it', () => {
  const depth = 10_000
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      let deep: unknown = { first: undefined, value, last: [value, undefined] }
      for (let level = 0; level < depth; level++) deep = [deep]
      const inner = JSON.stringify({ first: undefined, value, last: [value, undefined] })
      expect(jsonText(deep) === '['.repeat(depth) + inner + ']'.repeat(depth)).toBe(true)
    }),
    { numRuns: 10 },
  )
})
