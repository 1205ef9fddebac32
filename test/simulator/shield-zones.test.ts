import { expect, test } from 'vitest'
import { startAsking } from './asking.ts'
import { expectReply, problemType } from './conform.ts'
import * as schemas from './schemas.ts'

const path = '/shield/shield-zones'
const key = { headers: { AccessKey: 'secret' } }

interface ZoneList {
  readonly data: readonly { readonly shieldZoneId: number }[]
  readonly page: { readonly totalPages: number; readonly nextPage: number | null } | null
}

test('lists the zones in pages of ten by default', async () => {
  const zones = Array.from({ length: 12 }, (_, index) => 101 + index)
  const { ask } = await startAsking({ zones })
  const idsAt = async (query: string) => {
    const reply = await ask(`${path}${query}`)
    expectReply(reply, 200, schemas.zoneList)
    const { data, page } = reply.json() as ZoneList
    return { ids: data.map(({ shieldZoneId }) => shieldZoneId), page }
  }
  expect(await idsAt('')).toMatchObject({ ids: zones.slice(0, 10), page: { totalPages: 2, nextPage: 2 } })
  expect(await idsAt('?page=2')).toMatchObject({ ids: zones.slice(10), page: { nextPage: null } })
  expect((await idsAt('?page=1&perPage=1000')).ids).toEqual(zones)
  expect(await idsAt('?page=5')).toMatchObject({ ids: [], page: { nextPage: 6 } })
})

test('has no page without zones', async () => {
  const { ask } = await startAsking({ zones: [] })
  const empty = await ask(path)
  expectReply(empty, 200, schemas.zoneList)
  expect(empty.json()).toMatchObject({ data: [], page: null })
})

test('refuses wrong keys and numbers', async () => {
  const { ask } = await startAsking({ accessKey: 'secret' })
  expectReply(await ask(path), 401, schemas.problemDetails, problemType)
  for (const query of ['?page=0', '?page=x', '?page=-1', '?perPage=0', '?perPage=1001', '?page=99999999999'])
    expectReply(await ask(path + query, key), 400, schemas.validationProblem, problemType)
})
