import { onTestFinished, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Notice } from '../../src/domain/notices.ts'
import { Secret } from '../../src/domain/text/secret.ts'
import { createMessenger, type Place } from '../../src/notify/post.ts'
import { bodyOf, serveHttp } from '../setup/http-server.ts'

const notice: Notice = {
  status: 'begins',
  key: 'failing/siem/server_error',
  text: 'shop → siem fails: <503>.',
  remedy: 'It tries again.',
  sinceMs: Date.parse('2026-11-20T12:00:00.000Z'),
}
const { signal } = new AbortController()

async function setUp(status = 200) {
  const requests: { path: string; method: string; headers: Record<string, unknown>; body: string }[] = []
  const server = await serveHttp(async (request, response) => {
    const { url = '', method = '', headers } = request
    requests.push({ path: url, method, headers, body: await bodyOf(request) })
    response.writeHead(status).end('no')
  })
  const messenger = createMessenger(systemClock, '1.0.0')
  onTestFinished(() => messenger.close())
  const url = new Secret(`${server.url}/hook/token-of-the-place?x=1`)
  return { requests, messenger, url }
}

test.each<[Place['kind'], unknown]>([
  ['json', { status: 'begins', key: notice.key, text: notice.text, since: '2026-11-20T12:00:00.000Z' }],
  ['slack', { text: 'shieldlog: a problem. shop → siem fails: &lt;503&gt;.\nIt tries again.' }],
  ['discord', { content: 'shieldlog: a problem. shop → siem fails: <503>.\nIt tries again.' }],
  ['teams', { type: 'message', attachments: [{ content: { type: 'AdaptiveCard' } }] }],
  ['pagerduty', { routing_key: 'key', event_action: 'trigger', payload: { summary: notice.text } }],
])('%s gets its form', async (kind, expected) => {
  const { requests, messenger, url } = await setUp()
  const place = { name: 'ops', kind, url, routingKey: new Secret('key') }
  await messenger.tell(place, notice, 'store', signal)
  expect(requests).toMatchObject([{ method: 'POST', path: '/hook/token-of-the-place?x=1' }])
  expect(JSON.parse(requests[0]!.body)).toMatchObject(expected as object)
})

test('ntfy gets the text, with a title; the end of an incident resolves it', async () => {
  const { requests, messenger, url } = await setUp()
  await messenger.tell({ name: 'phone', kind: 'ntfy', url }, notice, 'store', signal)
  expect(requests[0]).toMatchObject({ headers: { title: 'shieldlog: a problem' } })
  const pager = { name: 'pager', kind: 'pagerduty', url, routingKey: new Secret('key') } as const
  await messenger.tell(pager, notice, 'store', signal)
  await messenger.tell(pager, { ...notice, status: 'over' }, 'store', signal)
  const [begun, over] = requests.slice(1).map(({ body }) => JSON.parse(body) as Record<string, unknown>)
  expect(over).toMatchObject({ event_action: 'resolve', dedup_key: begun!['dedup_key'] })
})

test('a user name and password in an address are sent', async () => {
  const { requests, messenger, url } = await setUp()
  const whole = new Secret(url.reveal().replace('//', '//ops:a%3Ab@'))
  await messenger.tell({ name: 'phone', kind: 'ntfy', url: whole }, notice, 'store', signal)
  const authorization = `Basic ${Buffer.from('ops:a:b').toString('base64')}`
  expect(requests[0]).toMatchObject({ path: '/hook/token-of-the-place?x=1', headers: { authorization } })
})

test('the heartbeat is a GET; with reasons it goes to /fail, with the reasons as its body', async () => {
  const { requests, messenger, url } = await setUp()
  await messenger.beat(url, [], signal)
  await messenger.beat(url, ['zone 101 → siem has a lag of 1000 s'], signal)
  expect(requests).toMatchObject([
    { method: 'GET', path: '/hook/token-of-the-place?x=1' },
    {
      method: 'POST',
      path: '/hook/token-of-the-place/fail?x=1',
      body: 'zone 101 → siem has a lag of 1000 s',
    },
  ])
})

test('a refusal names the place and the status, and not its address', async () => {
  const { messenger, url } = await setUp(403)
  const told = messenger.tell({ name: 'ops', kind: 'slack', url }, notice, 'store', signal)
  await expect(told).rejects.toThrow(/^notify ops: answered 403; check its url$/)
})
