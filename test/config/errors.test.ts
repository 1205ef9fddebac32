import { expect, test } from 'vitest'
import { errorLine } from '../../src/config/errors.ts'
import { basics, errorsOf, load } from './loading.ts'

const key = { SHIELDLOG_API_ACCESS_KEY: 'key' }

type Row = readonly [yaml: string, path: string, told: string]
const sinkOf = (sink: string) => (setting: string, at: string, told: string) =>
  [`sinks: [{ ${sink}, ${setting} }]`, `sinks[0].${at}`, told] as const
const ofFile = sinkOf('type: file, path: ./events')
const ofHttp = sinkOf('type: http, url: "https://siem.example/in"')
const file = '{ type: file, path: ./events'

/** What is written (besides a key and a zone), the path of the only error, and words of problem and remedy. */
const bad: readonly Row[] = [
  ['zoness: [1]', 'zoness', 'is not a setting; did you mean zones?'],
  ['qqqqqqqq: 1', 'qqqqqqqq', 'is not a setting; allowed here: api, zones'],
  ['poll: 5', 'poll', 'is a number; write { everySeconds'],
  ['poll: { everySeconds: 0 }', 'poll.everySeconds', 'is too small; write a number above 0'],
  ['poll: { everySeconds: 30s }', 'poll.everySeconds', 'is text; write a number above 0, at most 86400'],
  ['poll: { readableDays: 2.5 }', 'poll.readableDays', 'is not a whole number; write a whole number from 2'],
  ['poll: { firstRunDays: 4 }', 'poll.firstRunDays', 'is greater than readableDays (3); set it to 3 or less'],
  ['poll: { settleAfterHours: [1, 47] }', 'poll.settleAfterHours[1]', 'is too late: with readableDays 3'],
  [
    'redact: { addresses: hash }',
    'redact.addressKey',
    'is missing, although addresses is hash; set addressKey',
  ],
  ['redact: { hide: [a] }', 'redact.hide', 'is not a setting'],
  ['redact: { keep: { headers: [""] } }', 'redact.keep.headers[0]', 'is empty'],
  ...['mask', 'drop', 'hash, addressKey: 0123456789abcdef'].map((addresses): Row => [
    `redact: { addresses: ${addresses} }\nsinks: [{ type: stdout, where: { any: [{ addresses: [1.2.3.4] }] } }]`,
    'sinks[0].where.any[0].addresses',
    `since redact.addresses is ${addresses.split(',')[0]}; remove it and filter by countries or asns, or set`,
  ]),
  [
    'redact: { headers: ["user-*"] }\nsinks: [{ type: stdout, where: { userAgents: { not: [curl] } } }]',
    'sinks[0].where.userAgents',
    'compares nothing, since redact.headers hides user-agent; remove it, or add',
  ],
  ['redact: false', 'redact', 'is not an allowed value; write off'],
  ['api: { baseUrl: ftp://x }', 'api.baseUrl', 'is not an http or https URL; write a complete URL'],
  ['api: { baseUrl: "https://u:p@h" }', 'api.baseUrl', 'user name or password; set the key as api.'],
  ['api: { firstPage: "" }', 'api.firstPage', 'is empty; write text'],
  ['api: { tls: { caFile: ./none.pem } }', 'api.tls.caFile', 'no such file or directory (ENOENT); use a PEM'],
  [
    'api: { tls: { caFile: ./shieldlog.yaml } }',
    'api.tls.caFile',
    'is not a PEM file; use a file that begins',
  ],
  ['accounts: [{ name: a, accessKey: k, zones: [7] }]', 'accounts', 'cannot be used with api.accessKey'],
  ['state: { keepDays: 2.9 }', 'state.keepDays', 'is less than poll.readableDays (3); set it to 3 or more'],
  ['state: mysql://db', 'state', 'is not the URL of a state; write redis://host:6379/0'],
  ['state: { url: "sqlite:" }', 'state.url', 'has no database file; write sqlite:./var/shieldlog.db'],
  ['state: "sqlite::memory:"', 'state', 'would lose all progress; write sqlite:./var'],
  [
    'state: redis://host/x',
    'state',
    'has no valid database number after the host; write redis://host:6379/0',
  ],
  ['state: { url: "redis://h", redis: { url: "redis://h" } }', 'state.redis', 'remove url or redis'],
  ['state: { redis: {} }', 'state.redis', 'has no server; set one of url, sentinels (with name)'],
  ['state: { redis: { cluster: [] } }', 'state.redis.cluster', 'is empty; list at least one host:port'],
  [
    'state: { redis: { sentinels: [a:1] } }',
    'state.redis.name',
    'the other one of name and sentinels is set',
  ],
  [
    'state: { redis: { cluster: ["a b"] } }',
    'state.redis.cluster[0]',
    'is not a host address; write host or',
  ],
  ['sinks: [stdout]', 'sinks[0]', 'is text; write { type'],
  ['sinks: [{ type: fiel, path: x }]', 'sinks[0].type', 'is not an allowed value; did you mean file?'],
  ['sinks: [{ path: x }]', 'sinks[0].type', 'is missing; set it to stdout | file | http'],
  ofFile('name: Archive', 'name', 'is not a valid name; use at most 63 lower-case'),
  ofFile('mode: 0600', 'mode', 'is a number; write octal digits in quotes'),
  ofFile('dirMode: "0600"', 'dirMode', 'denies the owner access'),
  [`sinks: [${file} }, ${file}/../events/, name: b }]`, 'sinks[1].path', 'as sinks[0].path; give'],
  [`sinks: [${file} }, { type: file, path: ./x }]`, 'sinks[1].name', 'as sinks[0].name; give each sink a'],
  ['sinks: [{ type: http, url: "http://h/#a" }]', 'sinks[0].url', 'a fragment (#…); remove "#"'],
  ofHttp('headers: { Content-Length: "1" }', 'headers.Content-Length', 'the sink sets'),
  ofHttp('headers: { a: "1", A: "2" }', 'headers.A', 'is given twice'),
  ofHttp('headers: { a: "1\\n2" }', 'headers.a', 'not allowed in a header; write one line'),
  ofHttp('headers: { __proto__: "1" }', 'headers.__proto__', 'is not a setting'),
  ofHttp('signature: { header: Content-Type, secret: abcdefgh }', 'signature.header', 'choose another one'),
  ['server: { port: 65536 }', 'server.port', 'is too large; write a whole number from 0 to 65535'],
  ...['localhost:9871', 'http://localhost', '*', '127.1', '1.2.3.256', 'a b', '', 'fe80::x'].map(
    (host): Row => [
      `server: { host: ${JSON.stringify(host)} }`,
      'server.host',
      'is not an address or a name of this host; write one without scheme and port: 127.0.0.1, 0.0.0.0, ::1',
    ],
  ),
  ['server: { token: a, tokenFile: ./shieldlog.yaml }', 'server.tokenFile', 'remove token or tokenFile'],
  ['notify: [{ name: ops, kind: slack }]', 'notify[0].url', 'is missing; set url or urlFile'],
  [
    'notify: [{ name: a, url: "http://h", routingKey: k }]',
    'notify[0].routingKey',
    'is not used by json; remove it',
  ],
  ofFile(
    'where: { hosts: ["https://shop.example"] }',
    'where.hosts[0]',
    'is not a host; write it without scheme',
  ),
  ofFile('where: { paths: [/login, login] }', 'where.paths[1]', 'is not a path; begin it with / or *'),
  ofFile('where: { addresses: [203.0.113.0/33] }', 'where.addresses[0]', 'is not an address or a network'),
  ofFile('where: { any: [{ path: [/x] }] }', 'where.any[0].path', 'is not a setting; did you mean paths?'),
  ['zones: []', 'zones', 'lists no zone'],
  ['zones: [101, 101]', 'zones[1]', 'is the same as zones[0]; list each zone once'],
  ['zones: [2, { id: 1, name: "2" }]', 'zones[1]', 'zones[0]; give each zone a different name'],
  ['zones: [{ id: 1, name: "a\\u0007" }]', 'zones[0].name', 'not printable'],
  ['zones: al', 'zones', 'did you mean all?'],
  ['zones: { exclude: [103] }', 'zones.all', 'is missing'],
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
poll: { firstRunDays: 9, settleAfterHours: [99] }
polll: {}
sinks:
  - { type: file, path: ./a, mode: "9" }
  - { type: http, url: "\${NOPE}" }
  - { type: file, path: ./a }
server: { tokenFile: ./none }
state: redis://host/x
`,
    'api.accessKey:1 api.maxPageBytes:1 zones[2]:2 poll.firstRunDays:3 poll.settleAfterHours[0]:3 polll:4 sinks[0].mode:6 sinks[1].url:7 sinks[2].name:8 sinks[2].path:8 server.tokenFile:9 state:10',
  ],
  [
    'between valid sections',
    'zones: [101, 101]\nstate: { keepDays: 2 }\nnotify: [{ name: a, url: "http://h" }, { name: a, url: "http://h" }]\n',
    'api.accessKey zones[1]:1 state.keepDays:2 notify[1].name:3',
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
    /preset = "elastic" .*: is not an allowed value; did you mean elasticsearch\?/,
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

test('prints each error on one line', () => {
  expect(() => load({ yaml: 'zones: [1]\nserver: { port: 70000 }\n', env: key })).toThrow(
    'the configuration has an error:\n' +
      '  server.port = 70000 (shieldlog.yaml:2): is too large; write a whole number from 0 to 65535',
  )
})
