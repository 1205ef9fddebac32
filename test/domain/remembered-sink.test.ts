import { expect, test } from 'vitest'
import { renamedSinks, type RememberedSink, type PlacedSink } from '../../src/domain/remembered-sink.ts'

const sink = (text: string): PlacedSink => {
  const [name = '', type = '', place] = text.split(' ')
  return { name, type, place }
}
const known = (text: string): RememberedSink => ({
  ...sink(text),
  place: sink(text).place ?? '',
  formerly: [],
})

test.each<[what: string, configured: string[], known: string[], held: Record<string, string>]>([
  ['nothing is known', ['a file /x'], [], {}],
  ['the same sink', ['a file /x'], ['a file /x'], {}],
  ['a new name', ['b file /x'], ['a file /x'], { b: 'a' }],
  ['a new name and place', ['b file /y'], ['a file /x'], {}],
  ['a new place', ['a file /y'], ['a file /x'], {}],
  ['another kind at the same place', ['b syslog x:1'], ['a http x:1'], {}],
  ['a second sink with the same place', ['a http /x', 'b http /x'], ['a http /x'], {}],
  [
    'a third one in the place of the second',
    ['a http /x', 'c http /x'],
    ['a http /x', 'b http /x'],
    { c: 'b' },
  ],
  [
    'a name that the store knows, although its place is that of one that left',
    ['b http /x'],
    ['a http /x', 'b http /y'],
    {},
  ],
  ['one of several', ['b http /x', 'd file /y'], ['a http /x', 'd file /y'], { b: 'a' }],
  ['two new names for one', ['b http /x', 'c http /x'], ['a http /x'], { b: 'a', c: 'a' }],
  ['two new names for two', ['c http /x', 'd http /y'], ['a http /x', 'b http /y'], { c: 'a', d: 'b' }],
  ['names that changed places', ['a http /y', 'b http /x'], ['a http /x', 'b http /y'], {}],
  ['a place that this process cannot know', ['b http'], ['a http /x'], {}],
  ['a known sink without a place', ['b http'], ['a http'], {}],
])('%s', (_, configured, stored, held) => {
  expect(Object.fromEntries(renamedSinks(configured.map(sink), stored.map(known)))).toEqual(held)
})
