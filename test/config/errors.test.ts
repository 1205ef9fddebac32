import { expect, test } from 'vitest'
import { errorsOf, load } from './loading.ts'

const key = { SHIELDLOG_API_ACCESS_KEY: 'key' }
const file = '{ type: file, path: ./events'
const http = '{ type: http, url: "https://siem.example/in"'

// Each: what is written (besides a key and a zone), the path of the only error, and words of problem and remedy.
const bad: readonly [yaml: string, path: string, problem: string, remedy: string][] = [
  ['zoness: [1]', 'zoness', 'is not a setting', 'did you mean zones?'],
  ['qqqqqqqq: 1', 'qqqqqqqq', 'is not a setting', 'allowed here: api, zones'],
  [`sinks: [${file}, rotate: { maxByte: 1 } }]`, 'sinks[0].rotate.maxByte', 'is not a setting', 'maxBytes?'],
  ['poll: 5', 'poll', 'is a number', 'write { everySeconds'],
  ['poll: { everySeconds: 0 }', 'poll.everySeconds', 'is too small', 'number above 0'],
  ['poll: { everySeconds: .nan }', 'poll.everySeconds', 'is not a finite number', 'number above 0'],
  ['poll: { everySeconds: "30" }', 'poll.everySeconds', 'is text', 'without quotes'],
  [
    'poll: { everySeconds: 30s }',
    'poll.everySeconds',
    'is text',
    'number above 0, at most 86400 (default 30)',
  ],
  ['poll: { readableDays: 2.5 }', 'poll.readableDays', 'is not a whole number', 'whole number from 2 to 366'],
  ['state: { keepDays: 2.9 }', 'state.keepDays', 'less than poll.readableDays (3)', 'set it to 3 or more'],
  ['poll: { firstRunDays: 4 }', 'poll.firstRunDays', 'greater than readableDays (3)', 'set it to 3 or less'],
  ['poll: { settleAfterHours: [1, 47] }', 'poll.settleAfterHours[1]', 'is too late', 'less than 47'],
  ['poll: { settleAfterHours: [] }', 'poll.settleAfterHours', 'is empty', 'below 47'],
  ['redact: false', 'redact', 'is not an allowed value', 'write off'],
  ['redact: { body: keeep }', 'redact.body', 'is not an allowed value', 'did you mean keep?'],
  ['api: { baseUrl: ftp://x }', 'api.baseUrl', 'is not an http or https URL', 'complete URL'],
  ['api: { baseUrl: "https://u:p@api.example" }', 'api.baseUrl', 'user name or password', 'api.accessKey'],
  ['api: { firstPage: "" }', 'api.firstPage', 'is empty', 'default "omit"'],
  [
    'api: { tls: { caFile: ./none.pem } }',
    'api.tls.caFile',
    'cannot be read: no such file or directory (ENOENT)',
    'PEM file',
  ],
  ['api: { tls: { caFile: ./shieldlog.yaml } }', 'api.tls.caFile', 'is not a PEM file', '-----BEGIN'],
  [
    'accounts: [{ name: a, accessKey: k, zones: [7] }]',
    'accounts',
    'cannot be used with api.accessKey',
    'move the key',
  ],
  ['state: mysql://db', 'state', 'is not the URL of a store', 'redis://host:6379/0'],
  ['state: { url: "sqlite:" }', 'state.url', 'has no database file', 'sqlite:./var/shieldlog.db'],
  ['state: "sqlite::memory:"', 'state', 'lose all progress', 'sqlite:./var'],
  ['state: redis://host/x', 'state', 'no valid database number', 'redis://host:6379/0'],
  ['state: redis://host/0?tls=1', 'state', 'query', 'redis://'],
  [
    'state: { url: "redis://h", redis: { url: "redis://h" } }',
    'state.redis',
    'cannot be used with url',
    'remove url or redis',
  ],
  ['state: { redis: {} }', 'state.redis', 'has no server', 'sentinels (with name)'],
  ['state: { redis: { cluster: [] } }', 'state.redis.cluster', 'is empty', 'host:port'],
  ['state: { redis: { sentinels: [a:1] } }', 'state.redis.name', 'the other one', 'both'],
  [
    'state: { redis: { url: "redis://h", cluster: [a] } }',
    'state.redis.cluster',
    'cannot be used with url',
    'remove url or cluster',
  ],
  ['state: { redis: { cluster: ["a b"] } }', 'state.redis.cluster[0]', 'is not a host address', 'host:port'],
  ['sinks: {}', 'sinks', 'is an object', 'write a list of'],
  ['sinks: [stdout]', 'sinks[0]', 'is text', 'write { type'],
  ['sinks: [{ type: fiel, path: x }]', 'sinks[0].type', 'is not an allowed value', 'did you mean file?'],
  ['sinks: [{ path: x }]', 'sinks[0].type', 'is missing', 'stdout | file | http'],
  ['sinks: [{ type: file }]', 'sinks[0].path', 'is missing', 'path'],
  [`sinks: [${file}, name: Archive }]`, 'sinks[0].name', 'is not a valid name', '63 lower-case letters'],
  [`sinks: [${file}, mode: 0600 }]`, 'sinks[0].mode', 'is a number', 'in quotes'],
  [`sinks: [${file}, mode: "0999" }]`, 'sinks[0].mode', 'is not an octal mode', '"0600"'],
  [`sinks: [${file}, dirMode: "0600" }]`, 'sinks[0].dirMode', 'denies the owner access', '"0700"'],
  [`sinks: [${file}, format: nativ }]`, 'sinks[0].format', 'is not an allowed value', 'did you mean native?'],
  [
    `sinks: [${file} }, { type: file, path: ./x/../events/, name: b }]`,
    'sinks[1].path',
    'path',
    'different path',
  ],
  [`sinks: [${http} }, ${http} }]`, 'sinks[1].name', 'another sink', 'different name'],
  ['sinks: [{ type: http, url: "http://u:p@h/" }]', 'sinks[0].url', 'user name or password', 'Authorization'],
  ['sinks: [{ type: http, url: "http://h/#a" }]', 'sinks[0].url', 'fragment', '"#"'],
  [
    `sinks: [${http}, headers: { Content-Length: "1" } }]`,
    'sinks[0].headers.Content-Length',
    'that the sink sets',
    'remove',
  ],
  [`sinks: [${http}, headers: { a: "1", A: "2" } }]`, 'sinks[0].headers.A', 'given twice', 'keep one'],
  [`sinks: [${http}, headers: { a: 12 } }]`, 'sinks[0].headers.a', 'is a number', 'in quotes'],
  [
    `sinks: [${http}, headers: { a: "1\\n2" } }]`,
    'sinks[0].headers.a',
    'not allowed in a header',
    'one line',
  ],
  [`sinks: [${http}, headers: { a: "" } }]`, 'sinks[0].headers.a', 'is empty', 'one line'],
  [`sinks: [${http}, headers: { __proto__: "1" } }]`, 'sinks[0].headers.__proto__', 'is not a setting', ''],
  ['server: { port: 65536 }', 'server.port', 'is too large', 'from 0 to 65535'],
  [
    'server: { token: a, tokenFile: ./shieldlog.yaml }',
    'server.tokenFile',
    'cannot be used with token',
    'remove token',
  ],
  ['server: { tokenFile: . }', 'server.tokenFile', 'is not a regular file', 'regular file'],
  ['log: { level: WARN }', 'log.level', 'is not an allowed value', 'did you mean warn?'],
]

test.each(bad)('refuses %s', (yaml, path, problem, remedy) => {
  const errors = errorsOf({ yaml: `${yaml}\n`, env: { ...key, SHIELDLOG_ZONES: '101' } })
  expect(errors).toHaveLength(1)
  expect(errors[0]).toMatchObject({
    path,
    where: path.startsWith('accounts') ? 'shieldlog.yaml:1' : expect.any(String),
  })
  expect(errors[0]?.problem).toContain(problem)
  expect(errors[0]?.remedy).toContain(remedy)
})

const badZones: readonly [yaml: string, path: string, problem: string][] = [
  ['[]', 'zones', 'lists no zone'],
  ['[0]', 'zones[0]', 'is too small'],
  ['[1.5]', 'zones[0]', 'is not a whole number'],
  ['[shop]', 'zones[0]', 'is text'],
  ['[12345678901234567890]', 'zones[0]', 'is too large'],
  ['[101, 101]', 'zones[1]', 'is also listed as zones[0]'],
  ['[{ id: 1, name: a }, { id: 2, name: a }]', 'zones[1]', 'is also the name or id of zones[0]'],
  ['[2, { id: 1, name: "2" }]', 'zones[1]', 'is also the name or id of zones[0]'],
  ['[{ id: 1, name: "a\\u0007" }]', 'zones[0].name', 'not printable'],
  ['[{ id: 1, nane: a }]', 'zones[0].nane', 'is not a setting'],
  ['[{ name: a }]', 'zones[0].id', 'is missing'],
  ['[null]', 'zones[0]', 'null'],
  ['101', 'zones', 'is not an allowed value'],
]

test.each(badZones)('refuses zones: %s', (zones, path, problem) => {
  const errors = errorsOf({ yaml: `zones: ${zones}\n`, env: key })
  expect(errors).toMatchObject([{ path, problem: expect.stringContaining(problem) as unknown }])
})

test('refuses accounts that share a name or a zone, or have no key', () => {
  const yaml = `accounts:
  - { name: a, accessKey: k, zones: [1, 2] }
  - { name: a, accessKey: k, zones: [3] }
  - { name: c, accessKey: k, zones: [{ id: 2, name: two }] }
  - { name: d, zones: [4] }
`
  expect(errorsOf({ yaml }).map(({ path }) => path)).toEqual([
    'accounts[1].name',
    'accounts[2].zones[0]',
    'accounts[3].accessKey',
  ])
})

const placesOf = (yaml: string) => errorsOf({ yaml }).map(({ path, where }) => [path, where])

test('reports all errors of single settings at once, each with its line', () => {
  const yaml = `api: { accessKey: "\${NOPE}", maxPageBytes: -1 }
zones: [101, 101, x]
poll: { everySeconds: -1, firstRunDays: 9 }
polll: {}
sinks:
  - { type: file, path: ./a, mode: "9" }
  - { type: http, url: "\${NOPE}" }
server: { tokenFile: ./none }
`
  const places = placesOf(yaml)
  expect(places).toEqual(
    expect.arrayContaining([
      ['api.accessKey', 'shieldlog.yaml:1'],
      ['api.maxPageBytes', 'shieldlog.yaml:1'],
      ['zones[2]', 'shieldlog.yaml:2'],
      ['poll.everySeconds', 'shieldlog.yaml:3'],
      ['polll', 'shieldlog.yaml:4'],
      ['sinks[0].mode', 'shieldlog.yaml:6'],
      ['sinks[1].url', 'shieldlog.yaml:7'],
      ['server.tokenFile', 'shieldlog.yaml:8'],
    ]),
  )
  expect(places).toHaveLength(8)
})

test('reports all errors between valid settings at once, each with its line', () => {
  const yaml = `zones: [101, 101]
poll: { firstRunDays: 9, settleAfterHours: [99] }
sinks:
  - { type: file, path: ./a }
  - { type: file, path: ./a }
state: redis://host/x
`
  const places = placesOf(yaml)
  expect(places).toEqual(
    expect.arrayContaining([
      ['api.accessKey', 'shieldlog.yaml'],
      ['zones[1]', 'shieldlog.yaml:1'],
      ['poll.firstRunDays', 'shieldlog.yaml:2'],
      ['poll.settleAfterHours[0]', 'shieldlog.yaml:2'],
      ['sinks[1].name', 'shieldlog.yaml:5'],
      ['sinks[1].path', 'shieldlog.yaml:5'],
      ['state', 'shieldlog.yaml:6'],
    ]),
  )
  expect(places).toHaveLength(7)
})

test('prints each error on one line', () => {
  expect(() => load({ yaml: 'zones: [1]\nserver: { port: 70000 }\n', env: key })).toThrow(
    'the configuration has an error:\n' +
      '  server.port = 70000 (shieldlog.yaml:2): is too large; write a whole number from 0 to 65535 (default 9871)',
  )
})

test('shows no control character of a key or value, and keeps each error on its line', () => {
  const load78 = () =>
    load({ yaml: '"\\x7f\\e[31mab": 1\n"zo\\u202en\\nes": 2\nserver: { host: "a\\x9bb" }\n', env: key })
  expect(load78).toThrow(/\\u007f\\u001b\[31mab/)
  expect(load78).toThrow(/zo\\u202en/)
  expect(load78).not.toThrow(/[^\P{C}\n]/u)
})

test('requires only the settings that the command needs', () => {
  expect(errorsOf({}).map(({ path }) => path)).toEqual(['api.accessKey', 'zones'])
  expect(errorsOf({ needs: 'key' }).map(({ path }) => path)).toEqual(['api.accessKey'])
  expect(errorsOf({ needs: 'nothing' })).toEqual([])
  expect(load({ needs: 'nothing' }).config.accounts).toEqual([])
})
