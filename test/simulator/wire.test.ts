import { describe, expect, test } from 'vitest'
import { expectConforms, expectReply, problemType } from './conform.ts'
import { pathOf, startAsking, today } from './asking.ts'
import * as schemas from './schemas.ts'

const key = { headers: { AccessKey: 'secret' } }
const upload = '/shield/metrics/shield-zone/101/upload-scanning'
const volumes = '/mc/apps/shop/volumes'
const yesterday = '2026-11-19'

describe('event logs', () => {
  test('a page, its entries and their log', async () => {
    const { ask } = await startAsking({ days: 300 })
    const reply = await ask(pathOf(null))
    expectReply(reply, 200, schemas.eventLogPage)
    const { logs } = reply.json() as { logs: { log: string }[] }
    expect(logs).toHaveLength(300)
    for (const { log } of logs) expectConforms(schemas.log, JSON.parse(log))
    expect(reply.headers['date']).toBe('Fri, 20 Nov 2026 12:00:00 GMT')
    expect(reply.headers['cdn-requestid']).toMatch(/^[0-9a-f]{32}$/)
  })

  test.each([
    ['empty', ''],
    ['null', null],
    ['repeated', ''],
  ] as const)('the token of the last page: %s', async (lastToken, expected) => {
    const { page } = await startAsking({ days: 1, lastToken })
    expect((await page(null)).continuationToken).toBe(expected)
  })

  test('a zone that is not the account’s', async () => {
    const { ask } = await startAsking({ zones: [101] })
    const reply = await ask(pathOf(null, { zone: 999 }))
    expectReply(reply, 202, schemas.failedEventLogPage)
    expect(reply.text).toContain('"errorKey":"not_found_or_unauthorised_access.shieldzone"')
  })

  test('a day outside the window', async () => {
    const { ask } = await startAsking()
    for (const day of ['2026-11-17', '2026-11-21']) {
      const reply = await ask(pathOf(null, { day }))
      expectReply(reply, 401, schemas.failedEventLogPage)
      expect(reply.text).toContain('"errorKey":"invalid_datetime_window.event_logs"')
    }
    for (const day of ['2026-11-18', yesterday, today]) {
      expectReply(await ask(pathOf(null, { day })), 200, schemas.eventLogPage)
    }
  })

  test('the window follows the clock', async () => {
    const { ask, clock } = await startAsking()
    const tomorrow = pathOf(null, { day: '2026-11-21' })
    await clock.advance(12 * 3_600_000 - 1)
    expect((await ask(tomorrow)).status).toBe(401)
    await clock.advance(1)
    expect((await ask(tomorrow)).status).toBe(200)
    expect((await ask(pathOf(null, { day: '2026-11-18' }))).status).toBe(401)
  })

  test('a wrong key, a wrong path, a wrong method', async () => {
    const { ask } = await startAsking({ accessKey: 'secret' })
    for (const headers of [{}, { AccessKey: 'other' }]) {
      expectReply(await ask(pathOf(null), { headers }), 401, schemas.problemDetails, problemType)
    }
    expectReply(await ask(pathOf(null), key), 200, schemas.eventLogPage)
    const wrong = [
      '/shield/event-logs/x/11-20-2026',
      '/shield/event-logs/101/2026-11-20',
      '/shield/event-logs/1/%zz',
    ]
    for (const path of [
      ...wrong,
      '/shield/event-logs/101/02-30-2026',
      '/shield/event-logs/9999999999/11-20-2026',
    ]) {
      expectReply(await ask(path, key), 400, schemas.problemDetails, problemType)
    }
    for (const path of ['/', '/shield', '/shield/event-logs/101', `${pathOf('a')}/b`]) {
      expectReply(await ask(path, key), 404, schemas.problemDetails, problemType)
    }
    const post = await ask(pathOf(null), { ...key, method: 'POST', body: '{}' })
    expectReply(post, 405, schemas.problemDetails, problemType)
    expect(post.headers['allow']).toBe('GET')
  })
})

describe('upload scanning', () => {
  test('metrics whose totals are the sums of their days', async () => {
    const { ask } = await startAsking({})
    const reply = await ask(upload)
    expectReply(reply, 200, schemas.uploadScanning)
    const { data } = reply.json() as {
      data: {
        totalFilesScanned: number
        overviewPastTwentyEightDays: Record<string, { filesScanned: number }>
      }
    }
    let sum = 0
    for (const day of Object.values(data.overviewPastTwentyEightDays)) sum += day.filesScanned
    expect(sum).toBe(data.totalFilesScanned)
    expect(sum).toBeGreaterThan(0)
  })

  test('errors', async () => {
    const { ask } = await startAsking({ accessKey: 'secret' })
    expectReply(await ask(upload), 401, schemas.unauthorisedResult)
    expectReply(await ask(upload.replace('101', '9'), key), 202, schemas.failedUploadScanning)
  })
})

describe('volumes', () => {
  test('one page, and several', async () => {
    const { ask, simulator } = await startAsking({})
    const whole = await ask(volumes, key)
    expectReply(whole, 200, schemas.volumeList)
    const all = whole.json() as { items: { id: string }[]; cursor: unknown }
    expect(all.cursor).toBeNull()

    simulator.set({ pageSize: 2 })
    const ids: string[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? '' : `?nextCursor=${encodeURIComponent(cursor)}`
      const reply = await ask(`${volumes}${query}`, key)
      expectReply(reply, 200, schemas.volumeList)
      const page = reply.json() as {
        items: { id: string }[]
        cursor: string | null
        meta: { totalItems: number }
      }
      expect(page.meta.totalItems).toBe(all.items.length - ids.length)
      ids.push(...page.items.map((item) => item.id))
      cursor = page.cursor
    } while (cursor !== null)
    expect(ids).toEqual(all.items.map((item) => item.id))
  })

  test('errors', async () => {
    const { ask } = await startAsking({})
    expectReply(await ask(volumes), 401, schemas.problemDetails, problemType)
    expectReply(await ask(`${volumes}?nextCursor=nope`, key), 400, schemas.validationProblem, problemType)
    expectReply(await ask('/mc/apps/other/volumes', key), 404, schemas.problemDetails, problemType)
  })
})
