import { expect, test } from 'vitest'
import { expectConforms } from '../conform.ts'
import { idsOf, pathOf, startAsking, today, type Asking } from '../asking.ts'
import * as schemas from '../schemas.ts'
import type { Fault, FaultRule } from '../../../src/simulator/simulator.ts'

async function startUnder(fault: Fault, rule: Omit<FaultRule, 'fault'> = {}): Promise<Asking> {
  const asking = await startAsking({ days: 20, pageSize: 10 })
  asking.simulator.fail({ ...rule, fault })
  return asking
}

const always = { times: Number.POSITIVE_INFINITY }
const allIds = ({ simulator }: Asking) => simulator.entries(101, today).map((entry) => entry.logId)

test('fields of wrong types', async () => {
  const asking = await startUnder({ kind: 'wrongTypes' })
  const reply = await asking.ask(pathOf(null))
  expect(reply.status).toBe(200)
  expect(() => expectConforms(schemas.eventLogPage, reply.json())).toThrow(/hasMoreData/)
  asking.simulator.fail({ fault: { kind: 'wrongTypes', fields: { hasMoreData: 1 } } })
  expect(await asking.page(null)).toMatchObject({ hasMoreData: 1, errorResponse: null })
})

test('an empty page with more pages after it loses nothing if the client continues', async () => {
  const asking = await startUnder({ kind: 'emptyPageWithMore' }, { times: 3 })
  const pages = await asking.scan(null)
  expect(pages.map((page) => page.logs?.length)).toEqual([0, 0, 0, 10, 10])
  expect(new Set(pages.map((page) => page.continuationToken)).size).toBe(5)
  expect(idsOf(pages)).toEqual(allIds(asking))
})

test('a token that repeats itself', async () => {
  const asking = await startUnder({ kind: 'repeatToken' }, always)
  const first = await asking.page(null)
  const again = await asking.page(first.continuationToken)
  expect(again).toMatchObject({ hasMoreData: true, continuationToken: first.continuationToken })
  expect(idsOf([again])).toEqual(idsOf([first]))
})

test.each([1, 2, 3, 5])('tokens that repeat after %i pages', async (length) => {
  const { page } = await startUnder({ kind: 'cycleTokens', length }, always)
  const tokens: (string | null)[] = []
  let token: string | null = null
  for (let turn = 0; turn < 3 * length; turn++) {
    const next = await page(token)
    expect(next.hasMoreData).toBe(true)
    token = next.continuationToken
    tokens.push(token)
  }
  expect(new Set(tokens).size).toBe(length)
  expect(tokens.slice(length, 2 * length)).toEqual(tokens.slice(0, length))
})

test('more pages without a token', async () => {
  const { page } = await startUnder({ kind: 'moreWithoutToken' })
  expect(await page(null)).toMatchObject({ hasMoreData: true, continuationToken: null })
})

test('entries without an id', async () => {
  const asking = await startUnder({ kind: 'missingIds', every: 3 })
  const { logs } = (await asking.ask(pathOf(null))).json() as { logs: { logId?: string | null }[] }
  const ids = logs.map((entry) => entry.logId)
  const real = allIds(asking)
  expect(ids).toEqual([undefined, real[1], real[2], '', real[4], real[5], null, real[7], real[8], undefined])
})

test('entries on two pages, and twice on one', async () => {
  const asking = await startUnder({ kind: 'repeatedEntries', count: 2 }, always)
  const ids = idsOf(await asking.scan(null))
  const real = allIds(asking)
  const first = [real.slice(0, 10), real.slice(0, 2)]
  const second = [real.slice(8, 10), real.slice(10, 20), real.slice(10, 12)]
  expect(ids).toEqual([...first, ...second].flat())
  const other = await asking.page(null, { zone: 102 })
  expect(idsOf([other]).some((id) => real.includes(id))).toBe(false)
})

test('entries with the id and time of another one', async () => {
  const asking = await startUnder({ kind: 'sharedIds', every: 5 }, always)
  const pages = await asking.scan(null)
  const real = allIds(asking)
  const withSecond = (ids: readonly (string | undefined)[]) =>
    ids.flatMap((id, index) => (index % 5 === 0 ? [id, id] : [id]))
  expect(idsOf(pages)).toEqual([withSecond(real.slice(0, 10)), withSecond(real.slice(10))].flat())
  const [first, second] = pages[0]!.logs ?? []
  expect(second).toMatchObject({ timestamp: first!.timestamp, labels: { ruleId: '999001' } })
  expect(second).not.toEqual(first)
  expect(await asking.scan(null)).toEqual(pages)
})

test('invalid items among valid entries', async () => {
  const asking = await startUnder({ kind: 'badEntries' })
  const { logs } = (await asking.ask(pathOf(null))).json() as { logs: unknown[] }
  for (const stray of [42, null, 'no entry at all']) expect(logs).toContain(stray)
  expect(
    logs.filter((entry) =>
      JSON.stringify(asking.simulator.entries(101, today)).includes(JSON.stringify(entry)),
    ),
  ).not.toHaveLength(0)
  asking.simulator.fail({ fault: { kind: 'badEntries', entries: [[7]] } })
  expect((await asking.page(null)).logs).toHaveLength(11)
})

test('bodies that are not valid text', async () => {
  const { ask, simulator } = await startUnder({ kind: 'nonUtf8' })
  const broken = await ask(pathOf(null))
  expect(() => new TextDecoder('utf-8', { fatal: true }).decode(broken.bytes)).toThrow(/valid/)
  expect((broken.json() as { logs: unknown[] }).logs).toHaveLength(10)
  simulator.fail({ fault: { kind: 'notJson' } })
  const html = await ask(pathOf(null))
  expect([html.status, html.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(() => html.json()).toThrow(SyntaxError)
  simulator.fail({ fault: { kind: 'duplicateKeys' } })
  const twice = await ask(pathOf(null))
  expect(twice.text.match(/"logs":/g)).toHaveLength(2)
  expect((twice.json() as { logs: unknown[] }).logs).toHaveLength(10)
})

test('a page that fails for another reason does not change', async () => {
  const { ask } = await startUnder({ kind: 'emptyPageWithMore' })
  expect((await ask(pathOf(null, { zone: 9 }))).json()).toMatchObject({ logs: null, hasMoreData: false })
})
