import { describe, expect, test } from 'vitest'
import { listVolumes, readFigures, readUploadScanning, volumeFigures } from '../../src/shield/figures.ts'
import { answer, answering, never } from './shield-api.ts'

test.each([
  [{ data: null }, 'rejected', /no upload scanning metrics for zone 7/],
  [{ data: { totalFilesScanned: 'many' } }, 'bad_body', /totalFilesScanned/],
  [{ error: { success: false, message: 'plan', errorKey: 'invalid.x' } }, 'rejected', /plan/],
] as const)('%j in place of upload scanning metrics is a failure', async (body, code, told) => {
  const { client } = await answering(answer(200, body))
  const message = expect.stringMatching(told) as string
  await expect(readUploadScanning(client, 7, never)).rejects.toMatchObject({ code, message })
})

describe('upload scanning', () => {
  test('is read unchanged, with unknown fields', async () => {
    const data = {
      overviewPastTwentyEightDays: { '2026-11-01T00:00:00Z': { filesScanned: 1 } },
      totalLoggedRequests: 2,
      totalBlockedRequests: 3,
      totalFilesScanned: 1,
      totalQuarantined: 4,
    }
    const api = await answering(answer(200, { data, error: { success: false, message: '', errorKey: '' } }))
    expect(await readUploadScanning(api.client, 7, never)).toEqual(data)
    expect(api.requests[0]?.url).toBe('/shield/metrics/shield-zone/7/upload-scanning')
    expect(api.budget.heldBytes).toBe(0)
  })

  test('gives metrics the values of the API; missing values are absent, never 0', async () => {
    const data = { totalFilesScanned: 5, totalLoggedRequests: 0, totalBlockedRequests: null }
    const api = await answering(answer(200, { data }))
    expect(await readFigures(api.client, { zone: 101 }, never)).toEqual([
      { metric: 'upload_scanning_files_scanned', labels: {}, value: 5 },
      { metric: 'upload_scanning_requests', labels: { result: 'logged' }, value: 0 },
    ])
  })
})

describe('volumes', () => {
  test('are read by cursors to the end, each once', async () => {
    const first = { items: [{ id: 'a' }, { id: 'b' }], cursor: 'c/1', meta: { totalItems: 3 } }
    const api = await answering(
      answer(200, { ...first, summary: { totalStorage: 5 } }),
      answer(200, { items: [{ id: 'b' }, { id: 'c' }], cursor: '' }),
    )
    const { items, summary, isWhole } = await listVolumes(api.client, 'my app/..', never)
    expect(items.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect([summary, isWhole]).toEqual([{ totalStorage: 5 }, true])
    const path = '/mc/apps/my%20app%2F../volumes'
    expect(api.requests.map(({ url }) => url)).toEqual([path, `${path}?nextCursor=c%2F1`])
  })

  test.each([
    ['a cursor that repeats', { items: [{ id: 'a' }], cursor: 'same' }, 2, false],
    ['one with all there is', { items: [{ id: 'a' }], cursor: 'same', meta: { totalItems: 1 } }, 2, true],
    ['an empty page', { items: [], cursor: 'x' }, 1, true],
    ['no cursor', { items: [{ id: 'a' }], cursor: null }, 1, true],
  ])('end at %s', async (_, body, requests, isWhole) => {
    const api = await answering(answer(200, body))
    expect((await listVolumes(api.client, 'app', never)).isWhole).toBe(isWhole)
    expect(api.requests.length).toBe(requests)
  })

  test('end at a page with nothing new, also if its cursor changes; as figures they fail then', async () => {
    const api = await answering((response, request) =>
      answer(200, { items: [{ id: 'a' }], cursor: `c${api.requests.length}` })(response, request),
    )
    expect((await listVolumes(api.client, 'app', never)).isWhole).toBe(false)
    expect(api.requests.length).toBe(2)
    // A part would look like deleted volumes.
    await expect(readFigures(api.client, { app: 'app' }, never)).rejects.toMatchObject({ code: 'bad_body' })
  })

  test('keep every field, known or not', async () => {
    const attached = { attachedPods: ['p'], attachedContainers: ['c'], set: 'Attached', tier: 'fast' }
    const instance = { id: 'i', region: 'DE', size: 10, usage: 2.5, ...attached }
    const counts = { totalInstancesCount: 1, attachedInstancesCount: 1, containersCount: 1 }
    const sizes = { size: 10, totalUsage: 2.5, ...counts }
    const template = { name: 'data', id: 't', ...sizes, volumeInstances: [instance], kind: 'x' }
    const summary = { totalPods: 1, totalContainers: 1, totalStorage: 10 }
    const api = await answering(answer(200, { items: [template], summary }))
    expect(await listVolumes(api.client, 'app', never)).toEqual({ items: [template], summary, isWhole: true })
  })

  test('are summed by name and region, GB become bytes, and the fullest instance is reported', () => {
    const at = (region: string | null, size: number | null, usage: number | null) => ({ region, size, usage })
    const figures = volumeFigures([
      { name: 'data', id: 'a', volumeInstances: [at('DE', 10, 9.5), at('DE', 30, 0.5), at('NY', 10, 1)] },
      { name: null, id: 'b', volumeInstances: [at(null, null, 1), at(null, 0, 1)] },
      { name: 'none', id: 'c', volumeInstances: [] },
    ])
    expect(figures.map(({ metric, labels, value }) => [metric, ...Object.values(labels!), value])).toEqual([
      ['volume_size_bytes', 'data', 'DE', 40e9],
      ['volume_usage_bytes', 'data', 'DE', 10e9],
      ['volume_fullest_ratio', 'data', 'DE', 0.95],
      ['volume_size_bytes', 'data', 'NY', 10e9],
      ['volume_usage_bytes', 'data', 'NY', 1e9],
      ['volume_fullest_ratio', 'data', 'NY', 0.1],
      ['volume_usage_bytes', 'b', '', 2e9],
    ])
  })

  test('as labels have names that are printable, and limited in length and number', () => {
    const volumeInstances = Array.from({ length: 700 }, (_, index) => ({ region: `r${index}`, usage: 1 }))
    const figures = volumeFigures([{ name: `\u001b${'x'.repeat(300)}`, volumeInstances }])
    expect(figures).toHaveLength(500)
    const { volume = '' } = figures[0]!.labels!
    expect(volume).toMatch(/^\\u001bx+…$/)
    expect(volume.length).toBeLessThan(120)
  })
})
