import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { secondReading } from '../../../src/domain/text/second-reading.ts'

function parsed(text: string): unknown {
  const reading = secondReading(text)
  return 'json' in reading ? (JSON.parse(reading.json) as unknown) : reading
}

describe('a second reading', () => {
  it.each([
    ['a raw control character', '{"a":"x\u0001y"}', { a: 'x\u0001y' }],
    ['a raw line break', '["x\r\ny\t"]', ['x\r\ny\t']],
    ['one in a name', '{"a\u0000":1}', { 'a\u0000': 1 }],
    ['an escape that JSON has not', String.raw`{"a":"\x41\'\0"}`, { a: String.raw`\x41\'\0` }],
    ['a short escape', String.raw`["\u12","\u00g0\"","\u"]`, [String.raw`\u12`, '\\u00g0"', '\\u']],
    ['a backslash before a control character', '["\\\n"]', ['\\\n']],
    ['good escapes beside bad ones', String.raw`["\\\d\u0041\\"]`, ['\\\\dA\\']],
  ])('keeps %s', (_, text, value) => {
    expect(parsed(text)).toEqual(value)
  })

  it.each([
    ['', 0],
    ['  ', 2],
    ['NaN', 0],
    ['{"a":NaN}', 5],
    ['{"a":1,}', 7],
    ['[1,]', 3],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['{"a":"x"y"}', 8],
    ['{"a":"x', 7],
    ['{"a":"x\u0001"', 9],
    ['[1}', 2],
    ['{"a":1]', 6],
    ['[01]', 2],
    ['[-]', 1],
    ['[1] [2]', 4],
    ['<html>', 0],
    ['[1,\u00a02]', 3],
  ])('of %j says where it is no JSON', (text, brokenAt) => {
    expect(secondReading(text)).toEqual({ brokenAt })
  })

  it('leaves valid JSON as it is, and takes for JSON what JSON.parse takes', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(secondReading(json)).toEqual({ json, repairedAt: json.length })
      }),
    )
    const signs = fc.constantFrom(...'{}[]:,"\\u0041-.e+ntrualsef \n'.split(''))
    fc.assert(
      fc.property(fc.array(signs, { maxLength: 12 }), (some) => {
        const text = some.join('')
        const reading = secondReading(text)
        const isRepaired = 'json' in reading && reading.json !== text
        expect('json' in reading && !isRepaired).toBe(isJson(text))
        if (isRepaired) expect(isJson(reading.json)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  it('is one pass however deep the text, and however much of it is repaired', () => {
    const deep = `${'['.repeat(200_000)}"\u0001"${']'.repeat(200_000)}`
    expect(secondReading(deep)).toMatchObject({ repairedAt: 200_001 })
    expect(parsed(`["${'\u0007\\q'.repeat(200_000)}"]`)).toEqual(['\u0007\\q'.repeat(200_000)])
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
