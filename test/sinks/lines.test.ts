import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { joinTexts } from '../../src/sinks/lines.ts'
import { binaryText } from '../setup/binary-text.ts'

it('joins any texts to the bytes of the joined text', () => {
  const text = fc.oneof(binaryText(), fc.constantFrom('é', '\ud800', '', 'plain'))
  fc.assert(
    fc.property(fc.array(text), text, text, text, (texts, before, between, after) => {
      const sized = texts.map((one) => ({ text: one, bytes: Buffer.byteLength(one) }))
      // Texts are joined as they are: halves of a character that meet do not become one.
      const whole = [before, ...texts.flatMap((one, index) => (index > 0 ? [between, one] : [one])), after]
      const expected = Buffer.concat(whole.map((one) => Buffer.from(one)))
      expect(joinTexts(sized, { before, between, after }).equals(expected)).toBe(true)
    }),
  )
})

it('does not send bytes that it did not write', () => {
  expect(() => joinTexts([{ text: 'a', bytes: 2 }], { before: '', between: '', after: '' })).toThrow(
    'not as long',
  )
})
