import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { valueAt } from '../../src/config/errors.ts'
import { fileShape } from '../../src/config/file-shape.ts'
import { settingsOf } from '../../src/config/environment.ts'
import { Reading } from '../../src/config/reading.ts'
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
    const { written } = new Reading({ [environment]: '7' }, { cwd: '/nowhere', needs: 'nothing' })
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
])('refuses a named file %s', (_, config, code) => {
  const errors = errorsOf({ yaml: basics, argv: { config } })
  expect(errors).toMatchObject([{ path: '', problem: `cannot be read: ${code}` }])
  const byEnvironment = errorsOf({ yaml: basics, env: { SHIELDLOG_CONFIG: config } })
  expect(byEnvironment.map(({ problem }) => problem)).toEqual(errors.map(({ problem }) => problem))
})

test('refuses a file that is not UTF-8', () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'shieldlog.yaml'), Uint8Array.of(0x23, 0xff, 0xfe, 0x0a))
  expect(errorsOf({ cwd })).toMatchObject([
    { path: '', problem: expect.stringContaining('cannot be read') as unknown },
  ])
})

const own = 'api: { accessKey: k }\n'
const keyFile = 'api: { accessKeyFile: ./no }\nzones: [1]'
const discovered = { exclude: [103, 104], everyMinutes: 5 }
const excluding = { ZONES_EXCLUDE: '103,104', ZONES_EVERY_MINUTES: '5' }
const ofOne = (config: Config) => config.accounts[0]!
const keyOf = (config: Config) => ofOne(config).accessKey.reveal()
const stateOf = ({ state }: Config) => state
const discoveryOf = (config: Config) => ofOne(config).discovery
const zonesOf = (config: Config) => ofOne(config).zones.map(({ id, name }) => `${id} ${name}`)
const sqlite = `${basics}state: sqlite:/x.db\n`

test.each<
  [what: string, yaml: string, env: Record<string, string>, of: (config: Config) => unknown, is: unknown]
>([
  ['a key over a key file', keyFile, { API_ACCESS_KEY: 'env' }, keyOf, 'env'],
  ['a key file over a key', basics, { API_ACCESS_KEY_FILE: 'k' }, keyOf, 'from-file'],
  [
    'a store, and keeps its other settings',
    `${basics}state: { redis: { cluster: [a, b] }, keepDays: 3 }`,
    { STATE: 'sqlite:/x.db' },
    stateOf,
    { kind: 'sqlite', path: '/x.db', keepDays: 3 },
  ],
  [
    'a setting beside a short form',
    sqlite,
    { STATE_KEEP_DAYS: '5' },
    stateOf,
    { path: '/x.db', keepDays: 5 },
  ],
  [
    'another kind of store',
    sqlite,
    { STATE_REDIS_CLUSTER: 'h:1,[::1]:2' },
    ({ state }) => state.kind === 'redis' && state.nodes.map(({ host, port }) => `${host} ${port}`),
    ['h 1', '::1 2'],
  ],
  [
    'redaction, although the file turned it off',
    `${basics}redact: off`,
    { REDACT_QUERY: 'token, sid' },
    ({ redact }) => redact,
    { query: ['token', 'sid'], body: 'drop' },
  ],
  ['all zones', `${own}zones: [101]`, { ZONES: 'all' }, discoveryOf, { exclude: [], everyMinutes: 15 }],
  ['zones to leave out', `${own}zones: all`, excluding, discoveryOf, discovered],
  ['all zones but some', own, { ZONES: 'all', ...excluding }, discoveryOf, discovered],
  ['a list with commas', own, { ZONES: ' 101 , 102,' }, zonesOf, ['101 101', '102 102']],
  ['JSON', own, { ZONES: '[101, {"id": 102, "name": "shop"}]' }, zonesOf, ['101 101', '102 shop']],
  ['YAML', own, { ZONES: '- 101\n- { id: 102, name: shop }' }, zonesOf, ['101 101', '102 shop']],
])('the environment sets %s', (_, yaml, env, of, expected) => {
  const named = Object.entries(env).map(([name, value]) => [`SHIELDLOG_${name}`, value])
  const { config } = load({ yaml, files: { k: 'from-file\n' }, env: Object.fromEntries(named) as typeof env })
  expect({ is: of(config) }).toMatchObject({ is: expected })
})

test('a key and a key file in the environment exclude each other', () => {
  expect(
    errorsOf({ yaml: basics, files: { k: 'x' }, env: { [`${key}_FILE`]: 'k', [key]: 'x' } }),
  ).toMatchObject([{ path: 'api.accessKeyFile', problem: 'cannot be used with accessKey' }])
})

test('a value that overrides the file does not hide a wrong type in the file', () => {
  const env = { SHIELDLOG_POLL_EVERY_SECONDS: '3' }
  expect(errorsOf({ yaml: `${basics}poll: [1]\n`, env })).toMatchObject([{ path: 'poll' }])
})

test.each([
  ['a value', basics, { SHIELDLOG_ZONES: '7', SHIELDLOG_LOG_LEVEL: 'debug' }, ['zones SHIELDLOG_ZONES']],
  [
    'a secret in a file of its own',
    keyFile,
    { SHIELDLOG_API_ACCESS_KEY: 'canary' },
    ['api.accessKeyFile SHIELDLOG_API_ACCESS_KEY'],
  ],
  [
    'off in the place of an object',
    `${basics}redact: off`,
    { SHIELDLOG_REDACT_BODY: 'keep' },
    ['redact SHIELDLOG_REDACT_BODY'],
  ],
  ['nothing beside a short form', `${basics}state: sqlite:./x.db`, { SHIELDLOG_STATE_KEEP_DAYS: '20' }, []],
  ['nothing without a file', undefined, { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1' }, []],
])('names what the environment overrides, without values: %s', (_, yaml, env, told) => {
  const { overridden } = load({ ...(yaml !== undefined && { yaml }), files: { key: 'k' }, env })
  const expected = told.map((each) => each.replace(' ', ' is overridden by the environment: '))
  expect(overridden).toEqual(expected)
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
