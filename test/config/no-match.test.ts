import { expect, test } from 'vitest'
import { withZones } from '../../src/discovery/with-zones.ts'
import { unknownZoneWarnings } from '../../src/config/warnings.ts'
import { knownWords } from '../../src/domain/event/known-words.ts'
import { dispositionOf } from '../../src/formats/describe-event.ts'
import { basics, load } from './loading.ts'

const yaml = (zones: string, where: string) =>
  `api: { accessKey: k }\nzones: ${zones}\nsinks: [{ type: stdout, where: { zones: ${where} } }]`

test('a zone in where that is not shipped is warned of, with the nearest name', () => {
  const warnings = (where: string) =>
    load({ yaml: yaml('[101, { id: 102, name: shop }, { id: 103, name: " Blog " }]', where) }).warnings
  expect(warnings('[101, " SHOP ", blog]')).toEqual([])
  expect(warnings('[shpo]')).toEqual([
    'sinks[0].where.zones[0] "shpo" is not a zone that is shipped: no event comes from it, and the sink gets no event at all; did you mean shop?',
  ])
  expect(warnings('[101, 999999]')).toEqual([
    'sinks[0].where.zones[1] 999999 is not a zone that is shipped: no event comes from it; write the id or the name of one',
  ])
  expect(warnings('{ not: [101, 999999] }')).toEqual([
    'sinks[0].where.zones.not[1] 999999 is not a zone that is shipped: it keeps nothing out; write the id or the name of one',
  ])
})

test('with zones: all, zones in where are compared once the API has listed the zones', () => {
  const { config, warnings } = load({ yaml: yaml('all', '[101, 104]') })
  expect(warnings).toEqual([])
  const found = new Map([['default', { zones: [{ id: 101, name: 'shop' }] }]])
  expect(unknownZoneWarnings(withZones(config, found))).toEqual([
    expect.stringContaining('where.zones[1] 104'),
  ])
})

const wordsIn = (routing: string) =>
  load({ yaml: `${basics}sinks: [{ type: stdout, ${routing} }]` }).warnings.map((text) =>
    text.replace('sinks[0].', ''),
  )

test.each([
  [
    'where: { actions: [Bloked] }',
    'where.actions[0] "Bloked" is not known as an action, so it may match no event; did you mean Blocked?',
  ],
  [
    'where: { actions: { not: [Alowed, Logged] } }',
    /^where\.actions\.not\[0\] "Alowed" .*; did you mean Allowed\?$/,
  ],
  ['where: { actions: [teapot] }', /^where\.actions\[0\] "teapot" .*; known: Blocked, Logged, /],
  [
    'where: { severities: [warning, criticl] }',
    /^where\.severities\[1\] "criticl" .*; did you mean critical\?$/,
  ],
  [
    'where: { countries: [DE, UK] }',
    /^where\.countries\[1\] "UK" is not known as a country .*; did you mean GB\?$/,
  ],
  [
    'where: { countries: { not: [Germany] } }',
    /^where\.countries\.not\[0\] "Germany" .*; did you mean DE\?$/,
  ],
  ['where: { countries: [D] }', /^where\.countries\[0\] "D" .*; such as DE or US$/],
  ['sample: { Loged: 0.1 }', /^sample "Loged" .*; did you mean Logged\?$/],
])('a word that no event is known to have is warned of: %s', (routing, said) => {
  expect(wordsIn(routing)).toEqual([typeof said === 'string' ? said : expect.stringMatching(said)])
})

test('known words pass in any case', () => {
  expect(
    wordsIn(
      'where: { actions: [" blocked ", LOGGED, ratelimited], severities: [Critical], countries: [de, NL] }, sample: { logged: 0.1 }',
    ),
  ).toEqual([])
})

test('each known action has a disposition, so that formats and suggestions know the same words', () => {
  for (const action of knownWords.actions.known)
    expect(dispositionOf(action), action).not.toBe(dispositionOf('teapot'))
})
