import { expect, test } from 'vitest'
import { listVolumes, stateOf } from '../../src/shield/volumes.ts'
import { answer, never, startedApi } from './shield-api.ts'

test('follows cursors to the end, and returns each volume once', async () => {
  const api = await startedApi()
  const first = { items: [{ id: 'a' }, { id: 'b' }], cursor: 'c/1', meta: { totalItems: 3 } }
  api.reply(
    answer(200, { ...first, summary: { totalStorage: 5 } }),
    answer(200, { items: [{ id: 'b' }, { id: 'c' }], cursor: '' }),
  )
  const { items, summary, isWhole } = await listVolumes(api.client, 'my app/..', never)
  expect(items.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect([summary, isWhole]).toEqual([{ totalStorage: 5 }, true])
  expect(api.requests.map(({ url }) => url)).toEqual([
    '/mc/apps/my%20app%2F../volumes',
    '/mc/apps/my%20app%2F../volumes?nextCursor=c%2F1',
  ])
})

test.each([
  ['a cursor that repeats', { items: [{ id: 'a' }], cursor: 'same' }, 2, false],
  ['one with all there is', { items: [{ id: 'a' }], cursor: 'same', meta: { totalItems: 1 } }, 2, true],
  ['an empty page', { items: [], cursor: 'x' }, 1, true],
  ['no cursor', { items: [{ id: 'a' }], cursor: null }, 1, true],
])('ends at %s', async (_, body, requests, isWhole) => {
  const api = await startedApi()
  api.reply(answer(200, body))
  expect((await listVolumes(api.client, 'app', never)).isWhole).toBe(isWhole)
  expect(api.requests.length).toBe(requests)
})

test('ends at a page with nothing new, also if its cursor changes', async () => {
  const api = await startedApi()
  api.reply((response, request) =>
    answer(200, { items: [{ id: 'a' }], cursor: `c${api.requests.length}` })(response, request),
  )
  expect((await listVolumes(api.client, 'app', never)).isWhole).toBe(false)
  expect(api.requests.length).toBe(2)
})

test('keeps every field, known or not', async () => {
  const api = await startedApi()
  const instance = {
    id: 'i',
    attachedPods: ['p'],
    attachedContainers: ['c'],
    region: 'DE',
    size: 10,
    usage: 2.5,
    set: 'Attached',
    tier: 'fast',
  }
  const template = {
    name: 'data',
    id: 't',
    size: 10,
    totalUsage: 2.5,
    totalInstancesCount: 1,
    attachedInstancesCount: 1,
    containersCount: 1,
    volumeInstances: [instance],
    kind: 'x',
  }
  api.reply(
    answer(200, { items: [template], summary: { totalPods: 1, totalContainers: 1, totalStorage: 10 } }),
  )
  const { items, summary } = await listVolumes(api.client, 'app', never)
  expect(items).toEqual([template])
  expect(summary).toEqual({ totalPods: 1, totalContainers: 1, totalStorage: 10 })
})

test('reads the state of an instance from `status`, else from `set`', () => {
  expect([{ set: 'Attached' }, { status: 'Failed', set: '' }, { status: 3 }, {}].map(stateOf)).toEqual([
    'Attached',
    'Failed',
    '3',
    '',
  ])
})

const problem = {
  title: 'Not Found',
  status: 404,
  detail: 'no such app',
  instance: '/mc',
  type: 'about:blank',
}

test.each([
  [404, problem, 'rejected', /Not Found; no such app/],
  [200, problem, 'rejected', /no such app/],
  [401, { ...problem, status: 401 }, 'unauthorised', /no such app/],
  [
    400,
    { ...problem, errors: [{ field: 'limit', message: 'too many' }], id: 'p-1' },
    'rejected',
    /limit too many; problem id p-1/,
  ],
  [500, { title: 'Error', status: 500, detail: 'oops' }, 'server_error', /oops/],
  [200, { items: 'none' }, 'bad_body', /items/],
])(
  '%d with a body of its shape is a failure with the message of the API',
  async (status, body, code, told) => {
    const api = await startedApi()
    api.reply(answer(status, body))
    await expect(listVolumes(api.client, 'app', never)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(told) as string,
    })
  },
)
