import { expect, test } from 'vitest'
import { createFigureSource, volumeFigures } from '../../src/shield/figures.ts'
import { answer, never, startedApi } from './shield-api.ts'

const zone = { id: 101, name: 'shop', account: 'main' }
const app = { id: 'shop', account: 'main' }

test('upload figures have the values of the API; missing values are absent, never 0', async () => {
  const api = await startedApi()
  const source = createFigureSource(() => api.client)
  api.reply(
    answer(200, { data: { totalFilesScanned: 5, totalLoggedRequests: 0, totalBlockedRequests: null } }),
  )
  expect(await source.readUploads(zone, never)).toEqual({ filesScanned: 5, loggedRequests: 0 })
})

test('volumes are summed by name and region, GB become bytes, and the fullest instance is reported', () => {
  const at = (region: string | null, size: number | null, usage: number | null) => ({ region, size, usage })
  const figures = volumeFigures([
    { name: 'data', id: 'a', volumeInstances: [at('DE', 10, 9.5), at('DE', 30, 0.5), at('NY', 10, 1)] },
    { name: null, id: 'b', volumeInstances: [at(null, null, 1), at(null, 0, 1)] },
    { name: 'none', id: 'c', volumeInstances: [] },
  ])
  expect(figures).toEqual([
    { volume: 'data', region: 'DE', sizeBytes: 40e9, usageBytes: 10e9, fullestRatio: 0.95 },
    { volume: 'data', region: 'NY', sizeBytes: 10e9, usageBytes: 1e9, fullestRatio: 0.1 },
    { volume: 'b', region: '', usageBytes: 2e9 },
  ])
})

test('received names are limited in length and number, and printable', () => {
  const volumeInstances = Array.from({ length: 700 }, (_, index) => ({
    region: `r${index}`,
    size: 1,
    usage: 1,
  }))
  const figures = volumeFigures([{ name: `\u001b${'x'.repeat(300)}`, volumeInstances }])
  expect(figures).toHaveLength(500)
  expect(figures[0]!.volume).toMatch(/^\\u001bx+…$/)
  expect(figures[0]!.volume.length).toBeLessThan(120)
})

test('a list of volumes without an end is a failure: a part would look like deleted volumes', async () => {
  const api = await startedApi()
  api.reply(answer(200, { items: [{ id: 'a' }], cursor: 'same' }))
  const source = createFigureSource(() => api.client)
  await expect(source.readVolumes(app, never)).rejects.toMatchObject({ code: 'bad_body' })
})
