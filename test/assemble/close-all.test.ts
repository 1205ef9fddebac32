import { expect, test } from 'vitest'
import { closeInOrder, closeTogether } from '../../src/assemble/close-all.ts'

const fails = (text: string) => async () => {
  throw new Error(text)
}

test('closes the remaining parts although one fails to close, then throws its error', async () => {
  const closed: string[] = []
  const note = (name: string) => async () => void closed.push(name)
  const parts = [note('first'), fails('bad'), () => undefined, note('last')]
  await expect(closeInOrder(...parts)).rejects.toThrow(/^bad$/)
  expect(closed).toEqual(['first', 'last'])
  await expect(closeInOrder(fails('one'), fails('two'))).rejects.toThrow('one; two')
})

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
