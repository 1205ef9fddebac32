import { expect, it } from 'vitest'
import { jsonReply, longJsonReply } from '../../src/server/reply.ts'
import { textOf } from './client.ts'

it.each([
  [{}],
  [{ at: 'now', routes: [], workers: [1], absent: undefined }],
  [
    {
      routes: Array.from({ length: 123 }, (_, zone) => ({
        zone,
        name: `\u202e${zone}\u007f é`,
        days: [zone],
      })),
    },
  ],
  [{ routes: [undefined, null, 1], 'na"me': { deep: [1, [2]] } }],
  [[1, 2]],
  [null],
  ['text'],
])('a reply that is written in steps is the same one: %j', async (value) => {
  let turns = 0
  const reply = longJsonReply(200, value, async () => void turns++)
  expect({ ...reply, body: await textOf(reply) }).toEqual(jsonReply(200, value))
})
