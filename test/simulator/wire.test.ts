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
    ['absent', undefined],
    ['null', null],
    ['success-false', { success: false, message: null, errorKey: null }],
  ] as const)('the error of a good page: %s', async (emptyError, expected) => {
    const { ask } = await startAsking({ days: 1, emptyError })
    const reply = await ask(pathOf(null))
    expectReply(reply, 200, schemas.eventLogPage)
    expect((reply.json() as { errorResponse?: unknown }).errorResponse).toEqual(expected)
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

  test.each([401, 400] as const)('a day outside the window, as %i', async (windowErrorStatus) => {
    const { ask } = await startAsking({ windowErrorStatus })
    for (const day of ['2026-11-17', '2026-11-21']) {
      const reply = await ask(pathOf(null, { day }))
      expectReply(reply, windowErrorStatus, schemas.failedEventLogPage)
      expect(reply.text).toContain('"errorKey":"invalid_datetime_window.event_logs"')
    }
    for (const day of ['2026-11-18', yesterday, today]) {
      expectReply(await ask(pathOf(null, { day })), 200, schemas.eventLogPage)
    }
  })

  test('the window follows the clock and its skew', async () => {
    const { ask, clock, simulator } = await startAsking({ clockSkewMs: -12 * 3_600_000 - 1 })
    expect((await ask(pathOf(null))).status).toBe(401)
    expect((await ask(pathOf(null, { day: '2026-11-17' }))).headers['date']).toBe(
      'Thu, 19 Nov 2026 23:59:59 GMT',
    )
    await clock.advance(1)
    expect((await ask(pathOf(null))).status).toBe(200)
    simulator.set({ readableDays: 1 })
    expect((await ask(pathOf(null, { day: yesterday }))).status).toBe(401)
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

  test('more requests than the rate allows', async () => {
    const { ask, clock } = await startAsking({ requestsPerSecond: 2 })
    const replies = [await ask(pathOf(null)), await ask(pathOf(null)), await ask(pathOf(null))]
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 429])
    expect(replies[2]?.headers['retry-after']).toBe('1')
    await clock.advance(1000)
    expect((await ask(pathOf(null))).status).toBe(200)
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
    const { ask, simulator } = await startAsking({ accessKey: 'secret' })
    expectReply(await ask(upload), 401, schemas.unauthorisedResult)
    expectReply(await ask(upload.replace('101', '9'), key), 202, schemas.failedUploadScanning)
    simulator.fail({ fault: { kind: 'errorKey', errorKey: 'invalid_plan_type.upload_scanning' } })
    expectReply(await ask(upload, key), 202, schemas.failedUploadScanning)
  })
})

describe('volumes', () => {
  test('one page, and several', async () => {
    const { ask, simulator } = await startAsking({})
    const whole = await ask(volumes, key)
    expectReply(whole, 200, schemas.volumeList)
    const all = whole.json() as { items: { id: string }[]; cursor: unknown }
    expect(all.cursor).toBeNull()

    simulator.set({ volumesPageSize: 2 })
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
    const { ask, simulator } = await startAsking({})
    expectReply(await ask(volumes), 401, schemas.problemDetails, problemType)
    for (const query of ['?nextCursor=nope', '?limit=0', '?limit=1001', '?limit=x']) {
      expectReply(await ask(volumes + query, key), 400, schemas.validationProblem, problemType)
    }
    expectReply(await ask('/mc/apps/other/volumes', key), 404, schemas.problemDetails, problemType)
    simulator.setVolumes('shop', null)
    expectReply(await ask(volumes, key), 404, schemas.problemDetails, problemType)
    simulator.setVolumes('shop', [])
    expectReply(await ask(volumes, key), 200, schemas.volumeList)
  })
})
