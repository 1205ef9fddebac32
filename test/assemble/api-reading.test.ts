import { expect, test } from 'vitest'
import { closeTogether } from '../../src/assemble/api-reading.ts'

const fails = (text: string) => async () => {
  throw new Error(text)
}

test('waits for all parts that close in parallel, also if one fails', async () => {
  const slow = Promise.withResolvers<void>()
  let isClosed = false
  const parts = [
    { close: fails('bad') },
    { close: () => slow.promise.then(() => (isClosed = true)) },
    {
      close() {
        throw new Error('at once')
      },
    },
  ]
  const closing = closeTogether(parts)
  slow.resolve()
  await expect(closing).rejects.toThrow('bad; at once')
  expect(isClosed).toBe(true)
})
