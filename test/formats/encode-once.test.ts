import { expect, it } from 'vitest'
import { createFormat, encodeOnce } from '../../src/formats/registry.ts'
import { eventAt } from '../pump/stage.ts'

it('a line is made once for the sinks that share a format, and not kept once the last of them has it', () => {
  const native = createFormat({ format: 'native' })
  let made = 0
  const counted = {
    ...native,
    encode: (event: Parameters<typeof native.encode>[0]) => (made++, native.encode(event)),
  }
  const format = encodeOnce(counted, 3)
  const [event, other] = [eventAt(1), eventAt(2)]
  const lines = [event, event, other, event].map((each) => format.encode(each))
  expect(lines).toEqual([event, event, other, event].map((each) => native.encode(each)))
  expect(made).toBe(2)
  format.encode(event)
  expect(made).toBe(3)
})
