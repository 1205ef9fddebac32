import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unknownZoneWarnings } from '../../src/config/warnings.ts'
import { withZones } from '../../src/discovery/with-zones.ts'
import { knownWords } from '../../src/domain/event/known-words.ts'
import { dispositionOf } from '../../src/formats/severity-and-action.ts'
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
const header = 'headers: { Authorization: Bearer hunter2 }'
const ofHttp = (settings: string) => `sinks: [{ type: http, name: siem, ${settings} }]`
const sentinel = (loginUrl: string) =>
  'sinks: [{ type: http, preset: sentinel, name: azure, url: "https://x.ingest.monitor.azure.com", ruleId: dcr-1, ' +
  `stream: Custom-Shield, tenantId: t, clientId: c, clientSecret: hunter2, loginUrl: "${loginUrl}" }]`
const aws = 'aws: { region: eu-central-1, accessKeyId: AKIAEXAMPLE, secretAccessKey: hunter2 }'
const s3 = (endpoint: string) =>
  `sinks: [{ type: s3, name: lake, bucket: logs, endpoint: "${endpoint}", region: eu-central-1 }]`
const blob = (endpoint: string) =>
  `sinks: [{ type: azure-blob, name: lake, account: logs, container: logs, endpoint: "${endpoint}" }]`
const kafka = (broker: string, more = '') =>
  `sinks: [{ type: kafka, brokers: ["[::1]:9092", "${broker}"], topic: t, ${more}
  sasl: { mechanism: plain, username: u, password: hunter2 } }]`

/** What is warned of, without the common words. */
const sentBy = (yaml: string, env = {}) =>
  load({ yaml, env: { ...key, ...env } }).warnings.map((text) => text.replace('shieldlog sends ', ''))

test.each([
  [
    ofHttp(`url: "http://h.example/in", ${header}`),
    'sinks[0].url: the credentials of sink siem to h.example',
  ],
  [
    ofHttp(`url: "http://10.0.0.4:8080/", ${header}`),
    'sinks[0].url: the credentials of sink siem to 10.0.0.4',
  ],
  [
    ofHttp('url: "http://h.example/?token=hunter2"'),
    'sinks[0].url: the credentials of sink siem to h.example',
  ],
  [
    ofHttp('preset: sumologic, url: "http://h.example/hunter2"'),
    'sinks[0].url: the credentials of sink siem to h.example',
  ],
  [
    ofHttp(`preset: elasticsearch, url: "http://h.example", ${aws}`),
    'sinks[0].url: signed requests of sink siem to h.example',
  ],
  [sentinel('http://login.example'), 'sinks[0].loginUrl: the client secret of sink azure to login.example'],
  [s3('http://minio.example:9000'), 'sinks[0].endpoint: signed requests of sink lake to minio.example'],
  [blob('http://h.example'), 'sinks[0].endpoint: the credentials of sink lake to h.example'],
  [kafka('kafka:9092'), 'sinks[0].brokers: the credentials of sink kafka to kafka'],
  ['api: { baseUrl: "http://gate.example" }', 'api.baseUrl: the access key to gate.example'],
  ['state: "redis://:hunter2@redis"', 'state: the password of Redis to redis'],
  [
    'state: { redis: { cluster: ["127.0.0.1:1", "a.example:1"], password: hunter2 } }',
    'state: the password of Redis to a.example',
  ],
  [
    'notify: [{ name: ops, kind: slack, url: "http://h.example/hunter2" }]',
    'notify[0].url: the URL of notify ops, which is a secret, to h.example',
  ],
  [
    'heartbeat: { url: "http://h.example/hunter2" }',
    'heartbeat.url: the URL of the heartbeat, which is a secret, to h.example',
  ],
])('credentials that other hosts get in plain text are warned of: %s', (yaml, told) => {
  const warnings = sentBy(yaml)
  expect(warnings).toEqual([expect.stringMatching(/ unencrypted; (use https|use rediss|set tls)/)])
  expect(warnings[0]).toContain(`${told} unencrypted`)
  expect(warnings[0]).not.toContain('hunter2')
})

test('the password of a proxy that it gets in plain text is warned of, by the name that holds it', () => {
  const env = { https_proxy: 'http://u:hunter2@proxy.example:3128', ALL_PROXY: 'u:hunter2@p.example' }
  expect(sentBy('', env)).toEqual([
    'https_proxy: the password of the proxy to proxy.example unencrypted; use https',
    'ALL_PROXY: the password of the proxy to p.example unencrypted; use https',
  ])
  expect(
    sentBy('', { HTTPS_PROXY: 'https://u:p@proxy.example', HTTP_PROXY: 'http://proxy.example' }),
  ).toEqual([])
})

test.each([
  ofHttp(`url: "https://siem.example/in", ${header}`),
  ofHttp(`url: "http://127.0.0.1:8080/", ${header}`),
  ofHttp(`url: "http://[::1]:8080/", ${header}`),
  ofHttp(`url: "http://localhost:8080/", ${header}`),
  ofHttp('url: "http://siem.example/in?source=waf"'),
  sentinel('https://login.example'),
  sentinel('http://127.0.0.1:9'),
  s3('http://127.0.0.1:9000'),
  s3('https://minio.example'),
  blob('http://localhost:10000'),
  kafka('127.0.0.1:9092'),
  kafka('kafka:9092', 'tls: {},'),
  'sinks: [{ type: kafka, brokers: ["kafka:9092"], topic: t }]',
  'sinks: [{ type: syslog, host: siem.example, protocol: tcp }]',
  'api: { baseUrl: "http://127.0.0.1:9" }',
  'state: "redis://redis"',
  'state: "rediss://:p@redis"',
  'state: "redis://:p@127.0.0.1"',
  'state: { redis: { url: "redis://:p@redis", tls: {} } }',
  'notify: [{ name: ops, kind: pagerduty, routingKey: k }]',
  'heartbeat: { url: "http://127.0.0.1:9/x" }',
])('TLS, loopback addresses and places without credentials are not warned of: %s', (yaml) => {
  expect(sentBy(yaml)).toEqual([])
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
