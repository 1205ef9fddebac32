import { describe, expect, it } from 'vitest'
import { listShieldZones } from '../../src/shield/shield-zones.ts'
import { answer, answering, never } from './shield-api.ts'

const pageOf = (currentPage: number, totalPages: number) => ({ currentPage, totalPages })

describe('the list of shield zones', () => {
  it('reads all pages, and returns each zone once, by id', async () => {
    const api = await answering(
      answer(200, { data: [{ shieldZoneId: 103 }, { shieldZoneId: 101 }], page: pageOf(1, 2) }),
      answer(200, { data: [{ shieldZoneId: 101 }, { shieldZoneId: 102 }], page: pageOf(2, 2), error: null }),
    )
    expect((await listShieldZones(api.client, never)).map(({ id }) => id)).toEqual([101, 102, 103])
    expect(api.requests.map(({ url }) => url)).toEqual([
      '/shield/shield-zones?page=1&perPage=1000',
      '/shield/shield-zones?page=2&perPage=1000',
    ])
    expect(api.requests[0]?.headers['accesskey']).toBe('k-hunter2')
    expect(api.budget.heldBytes).toBe(0)
  })

  it('reads the known fields, and ignores other fields and what is not as expected', async () => {
    const data = [
      { shieldZoneId: 101, pullZoneId: 9, planType: 1, wafEnabled: true, name: 'shop', other: { a: 1 } },
      { shieldZoneId: 102, pullZoneId: 'x', planType: 9, wafEnabled: 'yes', name: 7 },
      { shieldZoneId: 103, planType: null, name: 'a\u001b[2J' },
      { shieldZoneId: 104, deletedDateTime: '2026-01-01T00:00:00Z' },
    ]
    const api = await answering(answer(200, { data, page: null }))
    const empty = { name: '', pullZone: undefined, plan: undefined, isWafEnabled: undefined }
    expect(await listShieldZones(api.client, never)).toEqual([
      { ...empty, id: 101, name: 'shop', pullZone: 9, plan: 'Advanced', isWafEnabled: true },
      { ...empty, id: 102, plan: '9' },
      { ...empty, id: 103 },
    ])
  })

  it.each([
    ['an empty list without a page', { data: [], page: null }],
    ['an empty page', { data: [], page: pageOf(1, 9) }],
    ['no list', { data: null }],
  ])('ends at %s', async (_, body) => {
    const api = await answering(answer(200, body))
    expect(await listShieldZones(api.client, never)).toEqual([])
    expect(api.requests).toHaveLength(1)
  })

  it('fails if pages repeat or never end, instead of returning a part', async () => {
    const api = await answering(answer(200, { data: [{ shieldZoneId: 101 }], page: pageOf(1, 2) }))
    await expect(listShieldZones(api.client, never)).rejects.toMatchObject({
      code: 'bad_body',
      message: expect.stringContaining('page 2 repeats') as string,
    })
    expect(api.requests).toHaveLength(2)
  })

  it.each([{ data: [{ id: 1 }] }, [], '<html>'])('answers %j as a failure', async (body) => {
    const { client } = await answering(answer(200, body))
    await expect(listShieldZones(client, never)).rejects.toMatchObject({ code: 'bad_body' })
  })
})
