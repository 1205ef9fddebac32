import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unknownZoneWarnings } from '../../src/config/warnings.ts'
import { withZones } from '../../src/discovery/with-zones.ts'
import { knownWords } from '../../src/domain/event/known-words.ts'
import { dispositionOf } from '../../src/formats/describe-event.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { basics, load } from './loading.ts'

const yaml = (zones: string, where: string) =>
  `api: { accessKey: k }\nzones: ${zones}\nsinks: [{ type: stdout, where: { zones: ${where} } }]`

test('a zone in where that is not shipped is warned of, with the nearest name', () => {
  const warnings = (where: string) =>
    load({ yaml: yaml('[101, { id: 102, name: shop }, { id: 103, name: " Blog " }]', where) }).warnings
  expect(warnings('[101, " SHOP ", blog]')).toEqual([])
  expect(warnings('[shpo]')).toEqual([
    'sinks[0].where.zones[0] "shpo" is not a zone that is shipped, so it has no effect; did you mean shop?',
  ])
  expect(warnings('[101, 999999]')).toEqual([
    'sinks[0].where.zones[1] 999999 is not a zone that is shipped, so it has no effect; write the id or the name of one',
  ])
  expect(warnings('{ not: [999999] }')).toEqual([expect.stringContaining('where.zones.not[0] 999999')])
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
  ['where: { countries: [DE, UK] }', /^where\.countries\[1\] "UK" is not known as a country .* mean GB\?$/],
  ['where: { any: [{ rules: [1] }, { countries: [UK] }] }', /^where\.any\[1\]\.countries\[0\] "UK" /],
  ['where: { countries: [Germany] }', /^where\.countries\[0\] "Germany" .*; such as DE or US$/],
  ['sample: { actions: { Loged: 0.1 } }', /^sample\.actions "Loged" .*; did you mean Logged\?$/],
])('a word that no event is known to have is warned of: %s', (routing, said) => {
  expect(wordsIn(routing)).toEqual([typeof said === 'string' ? said : expect.stringMatching(said)])
})

test('known words pass in any case', () => {
  expect(
    wordsIn(
      'where: { actions: [" blocked ", LOGGED, ratelimited], severities: [Critical], countries: [de, NL] }, sample: { actions: { logged: 0.1 } }',
    ),
  ).toEqual([])
})

test('each known action has a disposition, so that formats and suggestions know the same words', () => {
  for (const action of knownWords.actions)
    expect(dispositionOf(action), action).not.toBe(dispositionOf('teapot'))
})

const key = { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1' }
const sink = (url: string, headers = {}) => ({ sinks: [{ type: 'http', name: 'siem', url, headers }] })
const azure = { type: 'http', preset: 'sentinel', name: 'azure', url: 'https://x.ingest.monitor.azure.com' }
const login = {
  ruleId: 'dcr-1',
  stream: 'Custom-Shield',
  tenantId: 't',
  clientId: 'c',
  clientSecret: 'hunter2',
}
const sentinel = (loginUrl: string) => ({ sinks: [{ ...azure, ...login, loginUrl }] })
const header = { Authorization: 'Bearer hunter2' }

test.each([
  [sink('http://siem.example/in', header), 'sinks[0].url: shieldlog sends the credentials of sink siem'],
  [sink('http://10.0.0.4:8080/', header), 'sinks[0].url'],
  [{ api: { baseUrl: 'http://gate.example' } }, 'api.baseUrl: shieldlog sends the access key'],
  [
    sentinel('http://login.example'),
    'sinks[0].loginUrl: shieldlog sends the client secret of sink azure to login.example unencrypted; use https',
  ],
])('warns about credentials over plain http: %j', (settings, text) => {
  const { warnings } = load({ yaml: JSON.stringify(settings), env: key })
  expect(warnings).toEqual([expect.stringContaining(text)])
  expect(warnings[0]).not.toContain('hunter2')
})

test.each([
  sink('https://siem.example/in', header),
  sink('http://127.0.0.1:8080/', header),
  sink('http://[::1]:8080/', header),
  sink('http://localhost:8080/', header),
  sink('http://siem.example/in'),
  { api: { baseUrl: 'http://127.0.0.1:9' } },
  sentinel('https://login.example'),
  sentinel('http://127.0.0.1:9'),
])('does not warn about https, loopback addresses, or URLs without credentials: %j', (settings) => {
  expect(load({ yaml: JSON.stringify(settings), env: key }).warnings).toEqual([])
})

function exposedIn(yaml: string, mode: number): readonly string[] {
  const cwd = temporaryFolder()
  const file = join(cwd, 'shieldlog.yaml')
  writeFileSync(file, yaml)
  chmodSync(file, mode)
  return load({ cwd, env: { KEY: 'k' }, needs: 'nothing' }).exposed
}

const oneZone = 'zones: [101]\n'

test.each([
  ['a header', 'sinks: [{ type: http, url: "https://h/", headers: { A: x } }]', 'sinks[0].headers.A'],
  ['a token', 'server: { token: x }', 'server.token'],
  ['a password in a URL', 'state: "redis://u:p@h"', 'state'],
  ['several', 'state: "redis://u:p@h"\nserver: { token: x }', 'state and 1 more'],
])(
  '%s as plain text in a file that others can read is warned of, by its place only',
  (_, settings, place) => {
    expect(exposedIn(`api: { accessKey: "\${KEY}" }\n${oneZone}${settings}\n`, 0o604)).toEqual([
      `shieldlog.yaml has mode 0604, so that other users of this host can read ${place}; run chmod 600 on it, or keep the secret in a file of its own (…File)`,
    ])
  },
)

test.each([
  ['that only its owner and group can read', `api: { accessKey: s3cret }\n${oneZone}`, 0o640],
  ['with templates only', `api: { accessKey: "\${KEY}" }\n${oneZone}`, 0o644],
  ['without secrets', `${oneZone}state: "redis://h"\nsinks: [{ type: http, url: "https://h/" }]\n`, 0o644],
])('a file %s is well', (_, yaml, mode) => {
  expect(exposedIn(yaml, mode)).toEqual([])
})
