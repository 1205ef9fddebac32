import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { overriddenText } from '../../src/config/layers.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { basics, errorsOf, load } from './loading.ts'

const key = 'SHIELDLOG_API_ACCESS_KEY'

test('a flag overrides the environment, which overrides the file, which overrides the default', () => {
  const yaml = `${basics}log: { level: warn, format: json }\nserver: { port: 1 }\n`
  const env = { SHIELDLOG_LOG_LEVEL: 'error', SHIELDLOG_SERVER_PORT: '2' }
  const { config, origins } = load({ yaml, env, argv: { overrides: { 'server.port': '0' } } })
  expect(config.server.port).toBe(0)
  expect(config.log).toEqual({ level: 'error', format: 'json' })
  expect(config.server.host).toBe('127.0.0.1')
  expect(origins.get('server.port')).toEqual({ source: 'flag', where: 'flag for server.port' })
  expect(origins.get('log.level')).toEqual({ source: 'environment', where: 'SHIELDLOG_LOG_LEVEL' })
  expect(origins.get('log.format')).toEqual({ source: 'file', where: 'shieldlog.yaml:3' })
  expect(origins.get('server.host')).toEqual({ source: 'default' })
})

test('an invalid flag or environment value is reported with its origin', () => {
  const env = { SHIELDLOG_LOG_LEVEL: 'loud' }
  const errors = errorsOf({ yaml: basics, env, argv: { overrides: { 'server.port': 'x' } } })
  expect(errors.map(({ path, value, where }) => [path, value, where])).toEqual([
    ['server.port', '"x"', 'flag for server.port'],
    ['log.level', '"loud"', 'SHIELDLOG_LOG_LEVEL'],
  ])
})

test('an unset environment value is the same as an empty one', () => {
  expect(load({ yaml: basics, env: { SHIELDLOG_LOG_LEVEL: '' } }).config.log.level).toBe('info')
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
  ['that is a folder', '.', 'it is a folder (EISDIR)'],
])('refuses a named file %s', (_, config, code) => {
  const errors = errorsOf({ yaml: basics, argv: { config } })
  expect(errors).toMatchObject([{ path: '', problem: `cannot be read: ${code}` }])
  const byEnvironment = errorsOf({ yaml: basics, env: { SHIELDLOG_CONFIG: config } })
  expect(byEnvironment.map(({ problem }) => problem)).toEqual(errors.map(({ problem }) => problem))
})

test('does not skip a file that it has no permission to read', () => {
  const cwd = temporaryFolder()
  load({ yaml: basics, cwd })
  chmodSync(cwd, 0o755)
  chmodSync(join(cwd, 'shieldlog.yaml'), 0)
  expect(asNobody(() => errorsOf({ cwd }))).toMatchObject([
    { problem: 'cannot be read: permission denied (EACCES)' },
  ])
})

/** Root may read everything, so it steps down for the time of the call. */
function asNobody<Result>(call: () => Result): Result {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return call()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

test('refuses a file that is not UTF-8 or too large', () => {
  const cwd = temporaryFolder()
  const large = errorsOf({ yaml: `# ${'x'.repeat(4_200_000)}`, cwd })
  expect(large).toMatchObject([{ problem: 'is larger than 4 MiB' }])
  writeFileSync(join(cwd, 'shieldlog.yaml'), Uint8Array.of(0x23, 0xff, 0xfe, 0x0a))
  expect(errorsOf({ cwd })).toMatchObject([
    { path: '', problem: expect.stringContaining('cannot be read') as unknown },
  ])
})

test('a key in the environment replaces a key file in the file, and the other way round', () => {
  const withFile = { yaml: 'api: { accessKeyFile: ./none }\nzones: [1]\n', env: { [key]: 'from-env' } }
  expect(load(withFile).config.accounts[0]?.accessKey.reveal()).toBe('from-env')
  const files = { k: 'from-file\n' }
  const withKey = { yaml: basics, files, env: { [`${key}_FILE`]: 'k' } }
  expect(load(withKey).config.accounts[0]?.accessKey.reveal()).toBe('from-file')
  expect(errorsOf({ ...withKey, env: { [`${key}_FILE`]: 'k', [key]: 'x' } })).toMatchObject([
    { path: 'api.accessKeyFile', problem: 'cannot be used with accessKey' },
  ])
})

test('a store in the environment replaces the one in the file and keeps its other settings', () => {
  const redis = `${basics}state: { redis: { cluster: [a, b] }, keepDays: 3 }\n`
  const env = { SHIELDLOG_STATE: 'sqlite:/x.db' }
  expect(load({ yaml: redis, env }).config.state).toEqual({ kind: 'sqlite', path: '/x.db', keepDays: 3 })
  const url = `${basics}state: sqlite:/x.db\n`
  const days = { SHIELDLOG_STATE_KEEP_DAYS: '5' }
  expect(load({ yaml: url, env: days }).config.state).toEqual({ kind: 'sqlite', path: '/x.db', keepDays: 5 })
  const servers = { SHIELDLOG_STATE_REDIS_CLUSTER: 'h:1,[::1]:2' }
  expect(load({ yaml: url, env: servers }).config.state).toMatchObject({
    topology: 'cluster',
    nodes: [
      { host: 'h', port: 1 },
      { host: '::1', port: 2 },
    ],
  })
})

test('a redaction setting in the environment turns redaction on that the file turned off', () => {
  const { config } = load({ yaml: `${basics}redact: off\n`, env: { SHIELDLOG_REDACT_QUERY: 'token, sid' } })
  expect(config.redact).toMatchObject({ query: ['token', 'sid'], body: 'drop' })
})

test('a value that overrides the file does not hide a wrong type in the file', () => {
  const env = { SHIELDLOG_POLL_EVERY_SECONDS: '3' }
  expect(errorsOf({ yaml: `${basics}poll: [1]\n`, env })).toMatchObject([{ path: 'poll' }])
})

test('lists the settings of the file that the environment overrides, without values', () => {
  const env = { SHIELDLOG_ZONES: '7', SHIELDLOG_API_ACCESS_KEY: 'canary', SHIELDLOG_LOG_LEVEL: 'debug' }
  const { overridden } = load({ yaml: basics, env })
  expect(overridden).toEqual([
    { path: 'api.accessKey', where: 'SHIELDLOG_API_ACCESS_KEY' },
    { path: 'zones', where: 'SHIELDLOG_ZONES' },
  ])
  expect(overriddenText(overridden)).toBe(
    'the environment overrides the file: api.accessKey (SHIELDLOG_API_ACCESS_KEY), zones (SHIELDLOG_ZONES)',
  )
})

test('recognises a secret by its file setting, and a scalar that replaces an object', () => {
  const yaml = 'api: { accessKeyFile: ./key }\nzones: [1]\nstate: sqlite:./x.db'
  const env = { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_STATE_KEEP_DAYS: '20' }
  expect(load({ yaml, files: { key: 'k' }, env }).overridden.map(({ path }) => path)).toEqual([
    'api.accessKey',
    'state.keepDays',
  ])
})

test('reports nothing if the file sets nothing', () => {
  expect(load({ env: { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1' } }).overridden).toEqual([])
})
