import { expect, test } from 'vitest'
import { readUploadScanning, uploadDays } from '../../src/shield/upload-scanning.ts'
import { answer, never, startedApi } from './shield-api.ts'

const data = {
  overviewPastTwentyEightDays: { '2026-11-01T00:00:00Z': { filesScanned: 1 } },
  totalLoggedRequests: 2,
  totalBlockedRequests: 3,
  totalFilesScanned: 1,
}

test('reads the figures of a zone unchanged, with unknown fields', async () => {
  const api = await startedApi()
  const wire = { ...data, totalQuarantined: 4 }
  api.reply(answer(200, { data: wire, error: { success: false, message: '', errorKey: '' } }))
  expect(await readUploadScanning(api.client, 7, never)).toEqual(wire)
  expect(api.requests[0]?.url).toBe('/shield/metrics/shield-zone/7/upload-scanning')
  expect(api.budget.heldBytes).toBe(0)
})

test.each([
  [
    202,
    { data: null, error: { success: false, message: 'plan', errorKey: 'invalid_plan_type.x' } },
    'rejected',
  ],
  [200, { data: null }, 'rejected'],
  [200, { data: { totalFilesScanned: 'many' } }, 'bad_body'],
  [401, { statusCode: 401 }, 'unauthorised'],
  [404, { statusCode: 404 }, 'rejected'],
  [200, { statusCode: 404 }, 'rejected'],
])('%d with %j is a failure', async (status, body, code) => {
  const api = await startedApi()
  api.reply(answer(status, body))
  await expect(readUploadScanning(api.client, 7, never)).rejects.toMatchObject({ code })
})

test('days are in order of their dates, and invalid dates and figures stay visible', () => {
  const day = (key: string, value: unknown) => [key, value] as const
  const overview = Object.fromEntries([
    day('total', 5),
    day('2026-11-02', { filesScanned: 2, loggedRequests: null }),
    day('2026-11-01T00:00:00Z', { filesScanned: 1, loggedRequests: 2, blockedRequests: 3, more: 4 }),
  ])
  expect(uploadDays({ overviewPastTwentyEightDays: overview })).toEqual([
    { day: '2026-11-01', filesScanned: 1, loggedRequests: 2, blockedRequests: 3 },
    { day: '2026-11-02', filesScanned: 2, loggedRequests: undefined, blockedRequests: undefined },
    { day: 'total', filesScanned: undefined, loggedRequests: undefined, blockedRequests: undefined },
  ])
  expect(uploadDays({ overviewPastTwentyEightDays: null })).toEqual([])
})
