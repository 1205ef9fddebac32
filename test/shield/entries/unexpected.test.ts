import { expect, it } from 'vitest'
import type { UnexpectedNames } from '../../../src/domain/event/unexpected.ts'
import type { Json } from '../../../src/domain/text/json.ts'
import { eventsOf } from '../../../src/shield/entries/to-event.ts'
import { unexpectedIn } from '../../../src/shield/entries/unexpected.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { defaults, entry, log, zone } from '../samples.ts'

const found = (...entries: readonly Json[]) => unexpectedIn(eventsOf(entries, zone, createRedactor(defaults)))

const renamed = JSON.stringify({ Uri: '/', Client: '1.2.3.4' })
const longName = 'x'.repeat(200)

it.each<[string, Json, UnexpectedNames]>([
  ['a new member', entry({ ja4: 't13d', feature: { a: 1 } }), { member: ['ja4', 'feature'] }],
  [
    'a name of any text',
    entry({ [`\u001b[31m\n${longName}`]: 1 }),
    { member: [expect.any(String) as string] },
  ],
  ['no object', 'secret', { member: ['text in place of an entry'] }],
  ['labels as a list', entry({ labels: [{ Key: 'ruleId', Value: '9' }] }), { labels: ['a list'] }],
  ['labels as text', entry({ labels: 'ruleId=9' }), { labels: ['text'] }],
  ['no labels', entry({ labels: null }), { labels: ['null'] }],
  [
    'labels without a known name',
    entry({ labels: { rule_id: '9', act: 'x' } }),
    { labels: ['rule_id', 'act'] },
  ],
  ['a time that is none', entry({ timestamp: 'soon' }), { time: ['text'] }],
  ['no time', entry({ timestamp: null }), { time: ['null'] }],
  ['a log without a known name', entry({ log: renamed }), { log: ['Uri', 'Client'] }],
  ['a log that is no JSON', entry({ log: 'secret' }), { log: ['text'] }],
  [
    'all of them',
    entry({ n: 1, labels: 1, timestamp: true, log: 'x' }),
    {
      member: ['n'],
      labels: ['a number'],
      time: ['a boolean'],
      log: ['text'],
    },
  ],
])('%s is told by name, never by value', (_, odd, names) => {
  const { names: told, counts } = found(odd)
  expect(told).toEqual(names)
  expect(counts).toEqual(Object.fromEntries(Object.keys(names).map((kind) => [kind, 1])))
  for (const name of Object.values(told).flat()) expect(name).toMatch(/^[ -~]{1,60}…?$/)
  expect(JSON.stringify(told)).not.toMatch(/t13d|secret|1\.2\.3/)
})

it.each<[string, Json]>([
  ['the sample of the vendor', entry()],
  ['labels that are empty, or of which one is known', entry({ labels: {} })],
  ['a further label', entry({ labels: { status: 'Blocked', ja4: 'x' } })],
  ['a further name in the log', entry({ log: JSON.stringify({ ...log, Ja4: 'x' }) })],
  ['a log in other case', entry({ log: '{"url":"/"}' })],
  ['a log as an object', entry({ log })],
  ['no log', entry({ log: null })],
  ['an empty log', entry({ log: '' })],
])('%s is not', (_, usual) => {
  expect(found(usual)).toEqual({ names: {}, counts: {} })
})

it('logs without a known name are told only where no log of the page has one', () => {
  const odd = [entry({ log: renamed }), entry({ log: 'text' }), entry({ log: null })]
  expect(found(...odd)).toEqual({ names: { log: ['Uri', 'Client', 'text'] }, counts: { log: 2 } })
  expect(found(...odd, entry())).toEqual({ names: {}, counts: {} })
})

it('so many names of each kind are kept, however many the API makes up', () => {
  const entries = Array.from({ length: 500 }, (_, index) => entry({ [`m${index}`]: 1 }))
  const { names, counts } = found(...entries)
  expect([names.member?.length, counts.member]).toEqual([10, 500])
})

it('whatever the simulator makes up by itself is as expected', async () => {
  for (const seed of [1, 2, 3]) {
    const simulator = await startSimulator({ seed, days: 300, entryBytes: 300 * seed })
    const days = new Date().toISOString().slice(0, 10)
    const entries = simulator.entries(101, days)
    await simulator.close()
    expect(entries.length).toBeGreaterThan(0)
    for (const each of entries) expect(found(each as unknown as Json)).toEqual({ names: {}, counts: {} })
  }
})
