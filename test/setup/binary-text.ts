import fc from 'fast-check'

const codePoint = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code))

/** Text of any characters. The library's own, `unit: 'binary'`, takes seconds to be made. */
export function binaryText(limits: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...limits, unit: codePoint })
}
