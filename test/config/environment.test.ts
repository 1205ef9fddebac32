import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { valueAt } from '../../src/config/errors.ts'
import { fileShape } from '../../src/config/file-shape.ts'
import { settingsOf } from '../../src/config/environment.ts'
import { ConfigReading } from '../../src/config/reading.ts'
import type { Config } from '../../src/config/schema.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { basics, errorsOf, load, printed } from './loading.ts'

const settings = settingsOf(fileShape)

/** Every path of the defaults that ends in a scalar or list, found without the code under test. */
function scalarPaths(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path.join('.')]
  return Object.entries(value).flatMap(([key, inner]) => scalarPaths(inner, [...path, key]))
}

test('every scalar has a name in the environment that sets it, and no two share one', () => {
  const effective: unknown = parse(printed(load({ needs: 'nothing' })))
  const paths = settings.map(({ path }) => path.join('.'))
  expect(paths).toEqual(expect.arrayContaining(scalarPaths(effective)))
  expect(new Set(settings.map(({ environment }) => environment)).size).toBe(settings.length)
  for (const { path, environment } of settings) {
    const { written } = new ConfigReading({ [environment]: '7' }, { cwd: '/nowhere', needs: 'nothing' })
    expect(valueAt(written, path), environment).toBeDefined()
  }
})

const key = 'SHIELDLOG_API_ACCESS_KEY'

test('the environment overrides the file, which overrides the default', () => {
  const yaml = `${basics}log: { level: warn, format: json }\nserver: { port: 1 }\n`
  const env = { SHIELDLOG_LOG_LEVEL: 'error', SHIELDLOG_SERVER_PORT: '' }
  const text = printed(load({ yaml, env }))
  expect(text).toContain('  level: error # environment SHIELDLOG_LOG_LEVEL\n')
  expect(text).toContain('  format: json # file shieldlog.yaml:3\n')
  expect(text).toContain('  host: 127.0.0.1 # default\n')
  expect(text).toMatch(
    /\n {2}headers: \[\] # default; besides those with token, .* in their names, or the words pass, /,
  )
  // An empty value is the same as none.
  expect(text).toContain('  port: 1 # file shieldlog.yaml:4\n')
})

test('finds the file by -c, then SHIELDLOG_CONFIG, then ./shieldlog.yaml', () => {
  const files = { 'a.yaml': `${basics}log: { level: warn }`, 'b/b.yaml': `${basics}log: { level: error }` }
  const cwd = temporaryFolder()
  const given = { yaml: `${basics}log: { level: debug }`, files, cwd }
  const env = { SHIELDLOG_CONFIG: './b/b.yaml' }
  const byFlag = load({ ...given, env, argv: { config: 'a.yaml' } })
  expect(byFlag.config.log.level).toBe('warn')
  expect(byFlag.file).toBe(join(cwd, 'a.yaml'))
  expect(load({ ...given, env }).config.log.level).toBe('error')
  expect(load(given).config.log.level).toBe('debug')
  expect(load({ env: { [key]: 'k', SHIELDLOG_ZONES: '1' } }).file).toBeUndefined()
})

test.each([
  ['that is missing', 'none.yaml', 'no such file or directory (ENOENT)'],
  ['that is a folder', '.', 'illegal operation on a directory (EISDIR)'],
])('refuses a named file %s', (_, SHIELDLOG_CONFIG, code) => {
  const told = [{ path: '', problem: `cannot be read: ${code}` }]
  expect(errorsOf({ yaml: basics, env: { SHIELDLOG_CONFIG } })).toMatchObject(told)
})

test.each([
  ['Latin-1', Buffer.from('zones: [1]\nlog: { level: "\xe9" }\n', 'latin1'), 2],
  ['UTF-16', Buffer.from('\ufeffzones: [1]\n', 'utf16le'), 1],
])('refuses a file in %s with the line', (_, bytes, line) => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'shieldlog.yaml'), bytes)
  expect(errorsOf({ cwd })).toEqual([
    { path: '', problem: 'is not UTF-8', remedy: 'save the file as UTF-8', where: `shieldlog.yaml:${line}` },
  ])
})

const own = 'api: { accessKey: k }\n'
const keyFile = 'api: { accessKeyFile: ./no }\nzones: [1]'
const off = `${basics}redact: off`
const sqlite = `${basics}state: sqlite:/x.db`
const cluster = `${basics}state: { redis: { cluster: [a, b] }, keepDays: 3 }`
const excluding = { ZONES_EXCLUDE: '103,104', ZONES_EVERY_MINUTES: '5' }
const discovered = { discovery: { exclude: [103, 104], everyMinutes: 5 } }
const two = { zones: ['101 101', '102 shop'] }

function seenOf({ accounts: [account], state, redact }: Config) {
  const { accessKey, zones, discovery } = account!
  return {
    key: accessKey.reveal(),
    zones: zones.map(({ id, name }) => `${id} ${name}`),
    discovery,
    state,
    redact,
  }
}

test.each<
  [what: string, yaml: string, env: Record<string, string>, is: object, overridden: Record<string, string>]
>([
  [
    'a key over a key file',
    keyFile,
    { API_ACCESS_KEY: 'x' },
    { key: 'x' },
    { 'api.accessKeyFile': 'API_ACCESS_KEY' },
  ],
  [
    'a key file over a key',
    basics,
    { API_ACCESS_KEY_FILE: 'k' },
    { key: 'from-file' },
    { 'api.accessKey': 'API_ACCESS_KEY_FILE' },
  ],
  [
    'a store, and keeps its other settings',
    cluster,
    { STATE: 'sqlite:/x.db' },
    { state: { kind: 'sqlite', path: '/x.db', keepDays: 3 } },
    { 'state.redis': 'STATE' },
  ],
  [
    'a setting beside a short form',
    sqlite,
    { STATE_KEEP_DAYS: '5' },
    { state: { path: '/x.db', keepDays: 5 } },
    {},
  ],
  [
    'another kind of store',
    sqlite,
    { STATE_REDIS_CLUSTER: 'h:1,[::1]:2' },
    {
      state: {
        nodes: [
          { host: 'h', port: 1 },
          { host: '::1', port: 2 },
        ],
      },
    },
    { 'state.url': 'STATE_REDIS_CLUSTER' },
  ],
  [
    'redaction, although the file turned it off',
    off,
    { REDACT_QUERY: 'token, sid' },
    { redact: { query: ['token', 'sid'], body: 'drop' } },
    { redact: 'REDACT_QUERY' },
  ],
  ['all zones', `${own}zones: [101]`, { ZONES: 'all' }, { discovery: { exclude: [] } }, { zones: 'ZONES' }],
  ['zones to leave out', `${own}zones: all`, excluding, discovered, {}],
  ['all zones but some', own, { ZONES: 'all', ...excluding }, discovered, {}],
  ['a list with commas', own, { ZONES: ' 101 , 102,' }, { zones: ['101 101', '102 102'] }, {}],
  ['JSON', own, { ZONES: '[101, {"id": 102, "name": "shop"}]' }, two, {}],
  ['YAML', own, { ZONES: '- 101\n- { id: 102, name: shop }' }, two, {}],
])(
  'the environment sets %s, and what it overrides is told without values',
  (_, yaml, env, is, overridden) => {
    const named = Object.fromEntries(Object.entries(env).map(([name, value]) => [`SHIELDLOG_${name}`, value]))
    const loaded = load({ yaml, files: { k: 'from-file\n' }, env: named })
    expect(seenOf(loaded.config)).toMatchObject(is)
    const told = Object.entries(overridden).map(
      ([path, name]) => `${path} is overridden by the environment: SHIELDLOG_${name}`,
    )
    expect(loaded.overridden).toEqual(told)
  },
)

test('a key and a key file in the environment exclude each other', () => {
  expect(
    errorsOf({ yaml: basics, files: { k: 'x' }, env: { [`${key}_FILE`]: 'k', [key]: 'x' } }),
  ).toMatchObject([{ path: 'api.accessKeyFile', problem: 'cannot be used with accessKey' }])
})

test('a value that overrides the file does not hide a wrong type in the file', () => {
  const env = { SHIELDLOG_POLL_EVERY_SECONDS: '3' }
  expect(errorsOf({ yaml: `${basics}poll: [1]\n`, env })).toMatchObject([{ path: 'poll' }])
})

test('a setting inside of a list of zones is refused, in the file or the environment', () => {
  const where = 'SHIELDLOG_ZONES_EXCLUDE'
  const told = [{ path: 'zones', problem: `is not an object, so ${where} has no effect` }]
  expect(errorsOf({ yaml: `${own}zones: [101]`, env: { [where]: '103' } })).toMatchObject(told)
  expect(errorsOf({ yaml: own, env: { [where]: '103', SHIELDLOG_ZONES: '101' } })).toMatchObject(told)
})

test('an error in the environment names the variable and the path', () => {
  const env = { SHIELDLOG_SINKS: '[{ type: file', SHIELDLOG_ACCOUNTS: 'x', SHIELDLOG_ZONES: '1,two' }
  const told = errorsOf({ yaml: basics, env }).map(
    ({ where, path, problem }) => `${where} ${path} ${problem}`,
  )
  expect(told).toEqual([
    expect.stringMatching(/^SHIELDLOG_SINKS:1 sinks is not valid YAML/),
    'SHIELDLOG_ZONES zones[1] is text',
    'SHIELDLOG_ACCOUNTS accounts is text',
  ])
})

test('warns only about unknown SHIELDLOG_ names, with the nearest known name', () => {
  const env = {
    SHIELDLOG_SERVR_PORT: '1',
    SHIELDLOG_QQQQQQQQQQQQ: '1',
    SHIELDLOG_CONFIG: 'shieldlog.yaml',
    SHIELDLOG_TEST_REDIS_URL: 'x',
    SHIELDLOG_MY_SINK: 'https://h/',
    SHIELDLOG_SERVICE_HOST: '10.0.0.1',
    SHIELDLOG_PORT_9871_TCP_ADDR: '10.0.0.1',
    PATH: '/bin',
  }
  const yaml = `${basics}sinks: [{ type: http, url: "\${SHIELDLOG_MY_SINK}" }]\n`
  expect(load({ yaml, env }).warnings).toEqual([
    'SHIELDLOG_SERVR_PORT is not a setting; did you mean SHIELDLOG_SERVER_PORT?',
    'SHIELDLOG_QQQQQQQQQQQQ is not a setting',
  ])
})

test('a value in quotation marks, as an env file of Docker keeps them, is noted or refused with the remedy', () => {
  const remedy = 'write it without the quotation marks, which are part of the value'
  const env = { [key]: '"k"', TOKEN: "'t'", OTHER: '"x"', SHIELDLOG_STATE: 'sqlite:"a".db' }
  const yaml = 'zones: [1]\nserver: { token: "${TOKEN}" }\n'
  expect(load({ yaml, env }).warnings).toEqual([`${key} is quoted; ${remedy}`, `TOKEN is quoted; ${remedy}`])
  expect(errorsOf({ yaml, env: { ...env, SHIELDLOG_SERVER_PORT: '"1"' } })).toMatchObject([
    { path: 'server.port', where: 'SHIELDLOG_SERVER_PORT', remedy },
  ])
})
