import { expect, test } from 'vitest'
import { expectReply, pathOf, startAsking, today } from './asking.ts'

const page = pathOf(null)
const rule = '/shield/rate-limit/1'
const upload = '/shield/metrics/shield-zone/101/upload-scanning'
const volumes = '/mc/apps/shop/volumes'
const zones = '/shield/shield-zones'
const patch = (body = '{}') => ({ method: 'PATCH', body })

test('a page of event logs with its labels', async () => {
  const { ask } = await startAsking({ days: 300 })
  const reply = await ask(page)
  expectReply(reply, 200, 'EventLogPage')
  const { logs } = JSON.parse(reply.text) as { logs: { log: string }[] }
  expect(logs).toHaveLength(300)
  for (const { log } of logs) expect(JSON.parse(log)).toMatchObject({ Url: expect.stringMatching(/^https:/) })
  expect(reply.headers.get('date')).toBe('Fri, 20 Nov 2026 12:00:00 GMT')
  expect(reply.headers.get('cdn-requestid')).toMatch(/^[0-9a-f]{32}$/)
})

test('the days that can be read follow the clock', async () => {
  const { ask, clock } = await startAsking()
  const readable = async () => {
    const days = ['2026-11-17', '2026-11-18', '2026-11-19', today, '2026-11-21']
    const replies = await Promise.all(days.map((day) => ask(pathOf(null, { day }))))
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      expectReply(reply, 401, 'EventLogPage')
      expect(reply.text).toContain('"errorKey":"invalid_datetime_window.event_logs"')
    }
    return days.filter((_, index) => replies[index]?.status === 200)
  }
  expect(await readable()).toEqual(['2026-11-18', '2026-11-19', today])
  await clock.advance(12 * 3_600_000 - 1)
  expect(await readable()).toEqual(['2026-11-18', '2026-11-19', today])
  await clock.advance(1)
  expect(await readable()).toEqual(['2026-11-19', today, '2026-11-21'])
})

test.each<[what: string, path: string, status: number, resource: string, options?: RequestInit]>([
  ['an unknown zone', pathOf(null, { zone: 9 }), 202, 'EventLogPage'],
  ['an unknown zone', upload.replace('101', '9'), 202, 'UploadScanningMetrics'],
  ['an unknown rule', '/shield/rate-limit/77', 202, 'RateLimitRule', patch()],
  ['an unknown application', '/mc/apps/other/volumes', 404, 'ProblemDetails'],
  ['no zone', '/shield/event-logs/x/11-20-2026', 400, 'ProblemDetails'],
  ['no date', '/shield/event-logs/101/2026-11-20', 400, 'ProblemDetails'],
  ['an impossible date', '/shield/event-logs/101/02-30-2026', 400, 'ProblemDetails'],
  ['no encoding', '/shield/event-logs/1/%zz', 400, 'ProblemDetails'],
  ['more than 32 bits', '/shield/rate-limit/2147483648', 400, 'ProblemDetails', patch()],
  ['no object', rule, 400, 'ProblemDetails', patch('[]')],
  ['another method', page, 404, 'ProblemDetails', { method: 'POST', body: '{}' }],
  ['nothing', '/', 404, 'ProblemDetails'],
  ['more than a path', `${pathOf('a')}/b`, 404, 'ProblemDetails'],
  ['a wrong cursor', `${volumes}?nextCursor=nope`, 400, 'ValidationProblem'],
  ['a wrong key', page, 401, 'ProblemDetails', { headers: { AccessKey: 'other' } }],
  ['no key', zones, 401, 'ProblemDetails', { headers: {} }],
  ['no key', rule, 401, 'UnauthorizedResult', { ...patch(), headers: {} }],
  ['no key', upload, 401, 'UnauthorizedResult', { headers: {} }],
])('%s: %s → %d', async (_, path, status, resource, options) => {
  const { ask } = await startAsking({ accessKey: 'secret' })
  const reply = await ask(path, { headers: { AccessKey: 'secret' }, ...options })
  expectReply(reply, status, resource)
})

test('without a key of the simulator volumes alone want one', async () => {
  const { ask } = await startAsking()
  expectReply(await ask(page), 200, 'EventLogPage')
  expectReply(await ask(volumes), 401, 'ProblemDetails')
})

test('an update changes the given fields of a rule, and keeps the others', async () => {
  const { ask, simulator } = await startAsking()
  const before = simulator.rateLimitRule(1)
  const reply = await ask(rule, patch('{"ruleName":"New","ruleConfiguration":{"timeframe":10}}'))
  expectReply(reply, 200, 'RateLimitRule')
  const ruleConfiguration = { ...before?.ruleConfiguration, timeframe: 10 }
  const ruleJson = JSON.stringify(ruleConfiguration)
  expect(JSON.parse(reply.text)).toEqual({ ...before, ruleName: 'New', ruleConfiguration, ruleJson })
  expect(simulator.rateLimitRule(1)).toEqual(JSON.parse(reply.text))
})

test('volumes on one page, and on several', async () => {
  const { ask, simulator } = await startAsking()
  const read = async (cursor: string | null) => {
    const query = cursor === null ? '' : `?nextCursor=${encodeURIComponent(cursor)}`
    const reply = await ask(`${volumes}${query}`, { headers: { AccessKey: 'any' } })
    expectReply(reply, 200, 'VolumeList')
    return JSON.parse(reply.text) as { items: object[]; cursor: string | null; meta: { totalItems: number } }
  }
  const whole = await read(null)
  expect(whole).toMatchObject({ cursor: null, meta: { totalItems: 3 } })
  simulator.set({ pageSize: 2 })
  const first = await read(null)
  const rest = await read(first.cursor)
  expect([...first.items, ...rest.items]).toEqual(whole.items)
  expect(rest).toMatchObject({ cursor: null, meta: { totalItems: 1 } })
})
