import { expect, test } from 'vitest'
import { errorLine } from '../../src/config/errors.ts'
import { basics, errorsOf, load } from './loading.ts'

const key = { SHIELDLOG_API_ACCESS_KEY: 'key' }
const file = '{ type: file, path: ./events'
const http = '{ type: http, url: "https://siem.example/in"'

/** What is written (besides a key and a zone), the path of the only error, and words of problem and remedy. */
const bad: readonly [yaml: string, path: string, told: string][] = [
  ['zoness: [1]', 'zoness', 'is not a setting; did you mean zones?'],
  ['qqqqqqqq: 1', 'qqqqqqqq', 'is not a setting; allowed here: api, zones'],
  [`sinks: [${file}, rotate: { maxByte: 1 } }]`, 'sinks[0].rotate.maxByte', 'did you mean maxBytes?'],
  [
    `sinks: [${file}, retention: { days: 0 } }]`,
    'sinks[0].retention.days',
    'is too small; write a whole number from 1',
  ],
  [
    `sinks: [${file}, retention: { maxBytes: 1.5 } }]`,
    'sinks[0].retention.maxBytes',
    'whole number of at least 1',
  ],
  [`sinks: [${file}, retention: 30 }]`, 'sinks[0].retention', 'is a number; write { days, maxBytes }'],
  [
    `sinks: [${http}, retention: { days: 30 } }]`,
    'sinks[0].retention',
    'is not a setting; allowed here: type',
  ],
  ['poll: 5', 'poll', 'is a number; write { everySeconds'],
  ['poll: { everySeconds: 0 }', 'poll.everySeconds', 'is too small; write a number above 0'],
  ['poll: { everySeconds: .nan }', 'poll.everySeconds', 'is not a finite number; write a number above 0'],
  ['poll: { everySeconds: "30" }', 'poll.everySeconds', 'is text; write the number without quotes'],
  ['poll: { everySeconds: 30s }', 'poll.everySeconds', 'a number above 0, at most 86400 (default 30)'],
  [
    'poll: { readableDays: 2.5 }',
    'poll.readableDays',
    'is not a whole number; write a whole number from 2 to',
  ],
  ['poll: { firstRunDays: 4 }', 'poll.firstRunDays', 'is greater than readableDays (3); set it to 3 or less'],
  ['poll: { settleAfterHours: [1, 47] }', 'poll.settleAfterHours[1]', 'is too late: with readableDays 3'],
  ['poll: { settleAfterHours: [] }', 'poll.settleAfterHours', 'is empty; write a list of number'],
  [
    'redact: { addresses: hash }',
    'redact.addressKey',
    'is missing, although addresses is hash; set addressKey or',
  ],
  ['redact: { addresses: hash, addressKey: short }', 'redact.addressKey', 'is too short; set addressKey or'],
  ['redact: false', 'redact', 'is not an allowed value; write off'],
  ['api: { baseUrl: ftp://x }', 'api.baseUrl', 'is not an http or https URL; write a complete URL'],
  [
    'api: { baseUrl: "https://u:p@api.example" }',
    'api.baseUrl',
    'user name or password; set the key as api.',
  ],
  ['api: { firstPage: "" }', 'api.firstPage', 'is empty; write text (default "omit")'],
  ['api: { tls: { caFile: ./none.pem } }', 'api.tls.caFile', 'no such file or directory (ENOENT); use a PEM'],
  [
    'api: { tls: { caFile: ./shieldlog.yaml } }',
    'api.tls.caFile',
    'is not a PEM file; use a file that begins',
  ],
  ['accounts: [{ name: a, accessKey: k, zones: [7] }]', 'accounts', 'cannot be used with api.accessKey'],
  ['state: { keepDays: 2.9 }', 'state.keepDays', 'is less than poll.readableDays (3); set it to 3 or more'],
  ['state: mysql://db', 'state', 'is not the URL of a store; write redis://host:6379/0'],
  ['state: { url: "sqlite:" }', 'state.url', 'has no database file; write sqlite:./var/shieldlog.db'],
  ['state: "sqlite::memory:"', 'state', 'would lose all progress; write sqlite:./var'],
  [
    'state: redis://host/x',
    'state',
    'has no valid database number after the host; write redis://host:6379/0',
  ],
  ['state: redis://host/0?tls=1', 'state', 'contains a query or fragment'],
  [
    'state: { url: "redis://h", redis: { url: "redis://h" } }',
    'state.redis',
    'with url; remove url or redis',
  ],
  ['state: { redis: {} }', 'state.redis', 'has no server; set one of url, sentinels (with name)'],
  ['state: { redis: { cluster: [] } }', 'state.redis.cluster', 'is empty; list at least one host:port'],
  [
    'state: { redis: { sentinels: [a:1] } }',
    'state.redis.name',
    'the other one of name and sentinels is set',
  ],
  ['state: { redis: { url: "redis://h", cluster: [a] } }', 'state.redis.cluster', 'remove url or cluster'],
  [
    'state: { redis: { cluster: ["a b"] } }',
    'state.redis.cluster[0]',
    'is not a host address; write host or',
  ],
  ['sinks: {}', 'sinks', 'is an object; write a list of'],
  ['sinks: [stdout]', 'sinks[0]', 'is text; write { type'],
  ['sinks: [{ type: fiel, path: x }]', 'sinks[0].type', 'is not an allowed value; did you mean file?'],
  ['sinks: [{ path: x }]', 'sinks[0].type', 'is missing; set it to stdout | file | http'],
  ['sinks: [{ type: file }]', 'sinks[0].path', 'is missing; set it to a path'],
  [`sinks: [${file}, name: Archive }]`, 'sinks[0].name', 'is not a valid name; use at most 63 lower-case'],
  [`sinks: [${file}, mode: 0600 }]`, 'sinks[0].mode', 'is a number; write octal digits in quotes'],
  [`sinks: [${file}, mode: "0999" }]`, 'sinks[0].mode', 'is not an octal mode; write octal digits in quotes'],
  [`sinks: [${file}, dirMode: "0600" }]`, 'sinks[0].dirMode', 'denies the owner access'],
  [`sinks: [${file}, format: nativ }]`, 'sinks[0].format', 'is not an allowed value; did you mean native?'],
  [
    `sinks: [${file} }, { type: file, path: ./x/../events/, name: b }]`,
    'sinks[1].path',
    'sinks[0].path; give',
  ],
  [
    `sinks: [${http} }, ${http} }]`,
    'sinks[1].name',
    'is the same as sinks[0].name; give each sink a different',
  ],
  ['sinks: [{ type: http, url: "http://u:p@h/" }]', 'sinks[0].url', 'user name or password'],
  ['sinks: [{ type: http, url: "http://h/#a" }]', 'sinks[0].url', 'a fragment (#…); remove "#"'],
  [
    `sinks: [${http}, headers: { Content-Length: "1" } }]`,
    'sinks[0].headers.Content-Length',
    'the sink sets',
  ],
  [`sinks: [${http}, headers: { a: "1", A: "2" } }]`, 'sinks[0].headers.A', 'is given twice'],
  [`sinks: [${http}, headers: { a: 12 } }]`, 'sinks[0].headers.a', 'is a number; write it in quotes'],
  [
    `sinks: [${http}, headers: { a: "1\\n2" } }]`,
    'sinks[0].headers.a',
    'not allowed in a header; write one line',
  ],
  [`sinks: [${http}, headers: { a: "" } }]`, 'sinks[0].headers.a', 'is empty, begins or ends with a space'],
  [`sinks: [${http}, headers: { __proto__: "1" } }]`, 'sinks[0].headers.__proto__', 'is not a setting'],
  [
    `sinks: [${http}, signature: { header: Content-Type, secret: abcdefgh } }]`,
    'sinks[0].signature.header',
    'remove it, or choose another one',
  ],
  ['server: { port: 65536 }', 'server.port', 'is too large; write a whole number from 0 to 65535'],
  [
    'server: { token: a, tokenFile: ./shieldlog.yaml }',
    'server.tokenFile',
    'with token; remove token or tokenFile',
  ],
  ['server: { tokenFile: . }', 'server.tokenFile', 'is not a regular file; use a regular file'],
  ['metrics: { uploadScanning: true }', 'metrics.uploadScanning', 'is a boolean; write { everyMinutes }'],
  ['zones: []', 'zones', 'lists no zone'],
  ['zones: [0]', 'zones[0]', 'is too small'],
  ['zones: [12345678901234567890]', 'zones[0]', 'is too large'],
  ['zones: [101, 101]', 'zones[1]', 'is the same as zones[0]; list each zone once'],
  [
    'zones: [{ id: 1, name: a }, { id: 2, name: a }]',
    'zones[1]',
    'zones[0]; give each zone a different name',
  ],
  ['zones: [2, { id: 1, name: "2" }]', 'zones[1]', 'is the same as zones[0]'],
  ['zones: [{ id: 1, name: "a\\u0007" }]', 'zones[0].name', 'not printable'],
  ['zones: [{ id: 1, nane: a }]', 'zones[0].nane', 'is not a setting'],
  ['zones: [{ name: a }]', 'zones[0].id', 'is missing'],
  ['zones: [null]', 'zones[0]', 'null'],
  ['zones: 101', 'zones', 'is not an allowed value'],
  ['zones: al', 'zones', 'did you mean all?'],
  ['zones: { exclude: [103] }', 'zones.all', 'is missing'],
  ['zones: { all: false }', 'zones.all', 'true'],
]

test.each(bad)('refuses %s', (yaml, path, told) => {
  const zones = yaml.startsWith('zones:') ? {} : { SHIELDLOG_ZONES: '101' }
  const errors = errorsOf({ yaml: `${yaml}\n`, env: { ...key, ...zones } })
  expect(errors).toMatchObject([{ path, where: expect.any(String) as unknown }])
  expect(errorLine(errors[0]!)).toContain(told)
})

const linesOf = (yaml: string) => errorsOf({ yaml }).map(errorLine)

test('refuses accounts that share a name or a zone, have no key, or are not named where there are several', () => {
  const yaml = `accounts:
  - { name: a, accessKey: k, zones: [1, 2] }
  - { name: a, accessKey: k, zones: [3] }
  - { name: c, accessKey: k, zones: [{ id: 2, name: two }] }
  - { name: d, zones: [4] }
metrics: { volumes: { apps: [shop, { id: cart, account: "e" }, { id: shop, account: a }] } }
`
  expect(linesOf(yaml).map((line) => line.replaceAll(/ \(shieldlog.yaml:\d\)/g, ''))).toEqual([
    'accounts[1].name = "a": is the same as accounts[0].name; give each account a different name',
    'accounts[2].zones[0] = 2: is the same as accounts[0].zones[1]; list each zone once, in one account',
    'accounts[3].accessKey: is missing; set accessKey or accessKeyFile',
    'metrics.volumes.apps[0] = "shop": names no account, and there are several; write { id: shop, account: NAME }, with one of: a, a, c, d',
    'metrics.volumes.apps[1].account = "e": is not an allowed value; write a | a | c | d',
    'metrics.volumes.apps[2] = "shop": is the same as metrics.volumes.apps[0]; name each application once',
  ])
})

test.each([
  [
    'of single settings',
    `api: { accessKey: "\${NOPE}", maxPageBytes: -1 }
zones: [101, 101, x]
poll: { everySeconds: -1, firstRunDays: 9 }
polll: {}
sinks:
  - { type: file, path: ./a, mode: "9" }
  - { type: http, url: "\${NOPE}" }
server: { tokenFile: ./none }
`,
    'api.accessKey:1 api.maxPageBytes:1 zones[2]:2 poll.everySeconds:3 polll:4 sinks[0].mode:6 sinks[1].url:7 server.tokenFile:8',
  ],
  [
    'between valid settings',
    `zones: [101, 101]
poll: { firstRunDays: 9, settleAfterHours: [99] }
sinks:
  - { type: file, path: ./a }
  - { type: file, path: ./a }
state: redis://host/x
`,
    'api.accessKey zones[1]:1 poll.firstRunDays:2 poll.settleAfterHours[0]:2 sinks[1].name:5 sinks[1].path:5 state:6',
  ],
])('reports all errors %s at once, each with its line', (_, yaml, places) => {
  const found = errorsOf({ yaml }).map(({ path, where = '' }) => path + where.replace('shieldlog.yaml', ''))
  expect(found.toSorted()).toEqual(places.split(' ').toSorted())
})

test.each([
  [
    'preset: ndjsn, url: "127.0.0.1:99", headrs: { A: b }',
    /preset = "ndjsn" .*yaml:5\): is not an allowed value; did you mean ndjson\?/,
    /headrs .*: is not a setting; did you mean headers\?/,
    /url = .*: is not an http or https URL; write a complete URL/,
  ],
  [
    'preset: elastic, url: "127.0.0.1:99", apiKey: k, pipelin: x',
    /preset = "elastic" .*: is not an allowed value; write elasticsearch/,
    /pipelin .*: is not a setting; did you mean pipeline\?/,
    /url = .*: is not an http or https URL/,
  ],
  // Nothing is said to be missing: that depends on the preset that is meant.
  [
    'preset: quantum, compression: zip',
    /preset = "quantum" .*: is not an allowed value/,
    /compression = "zip" .*: is not an allowed value/,
  ],
])('reports all that is wrong with a sink at once, also beside an unknown kind: %s', (wrong, ...told) => {
  const archive = '  - { name: archive, type: file, path: a }\n'
  expect(linesOf(`${basics}sinks:\n${archive}  - { name: archive, type: http, ${wrong} }\n`)).toEqual([
    ...told.map((text) => expect.stringMatching(text) as unknown),
    'sinks[1].name = "archive" (shieldlog.yaml:5): is the same as sinks[0].name; give each sink a different name',
  ])
})

test('reports an unknown type together with what else is wrong in its sink', () => {
  expect(linesOf(`${basics}sinks: [{ type: fil, path: 7, where: { acton: [x] } }]\n`)).toEqual([
    'sinks[0].type = "fil" (shieldlog.yaml:3): is not an allowed value; did you mean file?',
    'sinks[0].where.acton (shieldlog.yaml:3): is not a setting; did you mean actions?',
    expect.stringMatching(/^sinks\[0\]\.path .*: is a number/),
  ])
})

test('prints each error on one line', () => {
  expect(() => load({ yaml: 'zones: [1]\nserver: { port: 70000 }\n', env: key })).toThrow(
    'the configuration has an error:\n' +
      '  server.port = 70000 (shieldlog.yaml:2): is too large; write a whole number from 0 to 65535 (default 9871)',
  )
})
