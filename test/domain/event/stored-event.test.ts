import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonText } from '../../../src/domain/text/json-text.ts'
import { restoreEvent, storeEvent } from '../../../src/domain/event/stored-event.ts'
import { anyEvent, buildEvent } from '../../formats/events.ts'

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? undefined : value
}

describe('a stored event', () => {
  it('is read back unchanged', () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const back = restoreEvent(storeEvent(event))
        const { raw, ...rest } = event
        const { raw: rawBack, ...restBack } = back
        // -0 is 0 in JSON text, where it came from as well.
        expect(JSON.stringify(restBack, plain)).toBe(JSON.stringify(rest, plain))
        expect(restBack.fingerprint).toBe(event.fingerprint)
        expect(rawBack()).toEqual(JSON.parse(JSON.stringify(raw())))
      }),
    )
  })

  it.each([
    '',
    'x',
    '{}',
    '[]',
    storeEvent(buildEvent()).slice(1),
    storeEvent(buildEvent()).replace('raw', 'row'),
  ])('is refused when it is damaged: %.20s', (text) => {
    expect(() => restoreEvent(text)).toThrow('a stored event is damaged')
  })
})

describe('JSON text', () => {
  it('is the output of JSON.stringify, also for values that are too deep for it', () => {
    const depth = 10_000
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        let deep: unknown = { first: undefined, value, last: [value, undefined] }
        for (let level = 0; level < depth; level++) deep = [deep]
        const inner = JSON.stringify({ first: undefined, value, last: [value, undefined] })
        expect(jsonText(deep) === '['.repeat(depth) + inner + ']'.repeat(depth)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})
