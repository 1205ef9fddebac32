import { expect, it } from 'vitest'
import type { PageViews } from '../../src/server/route.ts'
import { QueryError, readView } from '../../src/server/queries.ts'
import { healthOf, jsonReply, longJsonReply } from '../../src/server/routes.ts'
import { textOf } from './client.ts'

const fleet = Array.from({ length: 123 }, (_, zone) => ({
  zone,
  name: `\u202e${zone}\u007f é`,
  days: [zone],
}))

it.each([
  {},
  { at: 'now', routes: [], workers: [1], absent: undefined },
  { routes: fleet },
  { routes: [undefined, null, 1], 'na"me': { deep: [1, [2]] } },
])('a reply that is written in steps is the same one: %j', async (value) => {
  const reply = longJsonReply(200, value, () => Promise.resolve())
  expect({ ...reply, body: await textOf(reply) }).toEqual(jsonReply(200, value))
})

it.each([
  ['every loop has turned within a minute', 5, { tick: 0, worker: 9 }, 60_000, []],
  ['one has not, which is named', 5, { tick: 60_000, worker: 0 }, 60_001, ['worker']],
  ['it has within three intervals that are longer', 120, { tick: 0 }, 360_000, []],
  ['it has not within these', 120, { tick: 0 }, 360_001, ['tick']],
  ['there is no loop', 30, {}, 1e12, []],
  ['the turn is in the future', 30, { tick: 5_000 }, 0, []],
])('where %s the health of a process says so', (_, everySeconds, turnedAtMs, nowMs, hanging) => {
  const turns = new Map<string, number>(Object.entries(turnedAtMs))
  const { healthy, loops } = healthOf(turns, everySeconds, nowMs)
  expect([healthy, loops.filter((each) => !each.healthy).map(({ loop }) => loop)]).toEqual([
    hanging.length === 0,
    hanging,
  ])
})

const asked = (query: unknown) => query
const views = { map: asked, day: asked, deadLetters: asked, tail: asked } as unknown as PageViews

/** The query that the views get. */
function read(text: string): Promise<unknown> {
  const parameters = new URLSearchParams(text)
  return readView(parameters.get('view') ?? '', views, parameters)
}

const map = { filter: '', sort: 'state', page: 1, size: 25 }
const day = { zone: 101, sink: 'siem', day: '2026-11-20' }

it.each([
  ['view=map', map],
  [
    'view=map&filter=sh%20op&sink=siem&state=gap&sort=lag&page=3&size=100',
    { filter: 'sh op', sink: 'siem', state: 'gap', sort: 'lag', page: 3, size: 100 },
  ],
  [`view=map&filter=${'x'.repeat(500)}`, { ...map, filter: 'x'.repeat(200) }],
  ['view=day&zone=101&sink=siem&day=2026-11-20', day],
  ['view=dead-letters&zone=101&sink=siem&day=2026-11-20', day],
  ['view=tail&zone=101', { zone: 101, after: 0 }],
  ['view=tail&zone=101&after=12', { zone: 101, after: 12 }],
])('%s asks for %j', async (text, query) => {
  expect(await read(text)).toEqual(query)
})

it.each([
  ['view=x%0Ay', 'view "x\\\\ny" does not exist'],
  ['view=constructor', 'view "constructor" does not exist'],
  ['view=map&state=good', 'state "good" is none of failing, gap'],
  ['view=map&sort=name', 'sort "name" is none of state, zone'],
  ['view=map&page=0', 'page "0" is not a whole number from 1'],
  ['view=map&size=101', 'size "101" is not a whole number from 1 to 100'],
  ['view=map&page=1e3', 'page "1e3" is not'],
  ['view=day&zone=101', 'this view needs sink and day'],
  ['view=tail', 'this view needs zone (its id)'],
  ['view=day&zone=shop&sink=siem&day=2026-11-20', 'zone "shop" is not a whole number'],
  ['view=day&zone=101&sink=siem&day=today', 'day "today" is not YYYY-MM-DD'],
])('%s is refused with the value', async (text, message) => {
  const refused = read(text)
  await expect(refused).rejects.toThrow(QueryError)
  await expect(refused).rejects.toThrow(message)
})
