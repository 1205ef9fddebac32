import { expect, it } from 'vitest'
import { QueryError, readChoice } from '../../src/server/queries.ts'
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

const choice = { filter: '', sort: 'state', page: 1, size: 25 }
const day = { zone: 101, sink: 'siem', day: '2026-11-20' }

it.each([
  ['', choice],
  [
    'filter=sh%20op&sink=siem&state=gap&sort=lag&page=3&size=100',
    { filter: 'sh op', sink: 'siem', state: 'gap', sort: 'lag', page: 3, size: 100 },
  ],
  [`filter=${'x'.repeat(500)}`, { ...choice, filter: 'x'.repeat(200) }],
  ['zone=101&to=siem&day=2026-11-20', { ...choice, day }],
])('the page with %s shows %j', (text, chosen) => {
  expect(readChoice(new URLSearchParams(text))).toEqual(chosen)
})

it.each([
  ['state=go%0Aod', 'state "go\\\\nod" is none of failing, gap'],
  ['sort=name', 'sort "name" is none of state, zone'],
  ['page=0', 'page "0" is not a whole number from 1'],
  ['size=101', 'size "101" is not a whole number from 1 to 100'],
  ['page=1e3', 'page "1e3" is not'],
  ['day=2026-11-20&zone=101', 'day needs zone (its id) and to (the sink)'],
  ['day=2026-11-20&to=siem', 'day needs zone (its id) and to (the sink)'],
  ['day=2026-11-20&to=siem&zone=shop', 'zone "shop" is not a whole number'],
  ['day=today&to=siem&zone=101', 'day "today" is not YYYY-MM-DD'],
])('the page with %s is refused with the value', (text, message) => {
  const read = () => readChoice(new URLSearchParams(text))
  expect(read).toThrow(QueryError)
  expect(read).toThrow(message)
})
