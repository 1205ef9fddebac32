import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactJson } from '../../../src/domain/text/decode.ts'
import { isExactNumber, isObject, jsonText } from '../../../src/domain/text/json.ts'

const space = fc.constantFrom('', '', ' ', '\n\t', '\r')
const digits = fc.stringMatching(/^\d{1,20}$/)
const whole = digits.map((text) => text.replace(/^0+(?=\d)/, ''))
/** Any number that JSON allows. */
const number = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole,
    fraction: fc.oneof(
      fc.constant(''),
      digits.map((text) => `.${text}`),
    ),
    exponent: fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,3}$/)),
  })
  .map((parts) => Object.values(parts).join(''))
const text = fc.constantFrom(
  ...['', 'a', '1.0', ',5e3,', ':12345678901234567890', '"', '\\', '-0]', '1.2.3.4, 5.6.7.8', '\ufeff'].map(
    (each) => JSON.stringify(each),
  ),
)
const key = fc
  .constantFrom('a', 'b', 'timestamp', '__proto__', 'rawJSON', '1')
  .map((each) => JSON.stringify(each))
/** JSON text of any shape. No object has a key twice: of those only the last one is kept. */
const anyJson = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    number,
    text,
    fc.constantFrom('null', 'true'),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 4 }), space)
      .map(([items, gap]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`),
    fc
      .tuple(fc.uniqueArray(fc.tuple(key, tie('value')), { maxLength: 4, selector: ([name]) => name }), space)
      .map(([members, gap]) => {
        const ordered = members.toSorted(([one], [other]) => Number(other === '"1"') - Number(one === '"1"'))
        return `{${ordered.map(([name, value]) => `${gap}${name}${gap}:${gap}${value}${gap}`).join(',')}}`
      }),
  ),
})).value
const withoutSpace = (json: string) => json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

describe('exact JSON', () => {
  it('writes every number as it was read, but the whole ones of timestamps', () => {
    fc.assert(
      fc.property(anyJson, (json) => {
        const written = JSON.stringify(exactJson(`[${json}]`))
        const times = /("timestamp":)(\d[\d.]*(?:e[+-]?\d+)?)(?=[,}\]])/gi
        const plain = (found: string, name: string, source: string) =>
          Number.isSafeInteger(Number(source)) && Number(source) >= 1e8 ? `${name}${Number(source)}` : found
        expect(written).toBe(withoutSpace(`[${json}]`).replace(times, plain))
      }),
      { numRuns: 1_000 },
    )
  })

  it.each(['12345678901234567890', '9007199254740993', '1e400', '-0', '1.0', '0.10', '1E5', '-1.50e-7'])(
    'keeps %s, which is a number and no object',
    (source) => {
      const value = exactJson(`{"a":[${source}]}`)
      const [held] = (value as { a: unknown[] }).a
      expect([isExactNumber(held), isObject(held), jsonText(value)]).toEqual([
        true,
        false,
        `{"a":[${source}]}`,
      ])
    },
  )

  it.each([
    '{"a":1,"b":1.0}',
    '{"timestamp":1700000000000,"b":1.0}',
    '{"a":"x","b":1.0}',
    '{"a":{"b":1,"c":-0}}',
    '{"a":1e2,"b":"{\\"a\\":1,"}',
    '{"a":1234567890123456,"b":""}',
    '{"a":12345678901234567890,"b":""}',
  ])('looks at the numbers of %s one by one', (json) => {
    expect(jsonText(exactJson(json))).toBe(json)
  })

  it.each(['1e400', '12345678901234567890', '5.0', '-0'])(
    'keeps %s, the later value of a name that stands there twice',
    (source) => {
      for (const json of [
        `{"a":5,"a":${source}}`,
        `{"a":5,"b":"x","a" : ${source}}`,
        `{"a":5,"\\u0061":${source}}`,
      ])
        expect(jsonText(exactJson(json))).toMatch(`"a":${source}`)
    },
  )

  it('has plain numbers where JavaScript writes them so', () => {
    expect(exactJson('{"a":[0,-7,0.1,9007199254740992,1e-7],"b":1.0}')).toMatchObject({
      a: [0, -7, 0.1, 9007199254740992, 1e-7],
    })
  })

  it('is read at any depth', () => {
    const depth = 100_000
    const deep = `${'['.repeat(depth)}1.0${']'.repeat(depth)}`
    expect(jsonText(exactJson(deep)).length).toBeGreaterThan(2 * depth)
    const nested = `${'['.repeat(2_500)}1.0${']'.repeat(2_500)}`
    expect(jsonText([exactJson(nested), deepOf(20_000, exactJson('[1e400]'))])).toContain('1e400')
  })

  it('is undefined for other text', () => {
    for (const each of ['', '{', '[1.0', '{"a":01.0}', 'x']) expect(exactJson(each)).toBeUndefined()
  })
})

function deepOf(levels: number, value: unknown): unknown {
  let deep = value
  for (let level = 0; level < levels; level++) deep = [deep]
  return deep
}
