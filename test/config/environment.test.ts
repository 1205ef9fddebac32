import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ConfigFile } from '../../src/config/schema.ts'
import { type Setting, settingsOf, type Shape, forms, shapeOf } from '../../src/config/shape.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { basics, errorsOf, load, printed } from './loading.ts'

const settings = settingsOf(shapeOf(ConfigFile))
const names = settings.map(({ environment }) => environment)

/** Every path of the defaults that ends in a scalar or list, found without the code under test. */
function scalarPaths(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path.join('.')]
  return Object.entries(value).flatMap(([key, inner]) => scalarPaths(inner, [...path, key]))
}

test('every scalar has a name, and no two share one', () => {
  const effective: unknown = parse(printed(load({ needs: 'nothing' })))
  const paths = settings.map(({ path }) => path.join('.'))
  expect(paths).toEqual(expect.arrayContaining(scalarPaths(effective)))
  expect(new Set(names).size).toBe(names.length)
})

test.each(settings.map((setting) => [setting.environment, setting] as const))(
  '%s sets its setting',
  (name, setting) => {
    const isAccounts = name === 'SHIELDLOG_ACCOUNTS'
    const env = {
      ...(isAccounts ? {} : { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1' }),
      ...companions(name),
    }
    if (name === 'SHIELDLOG_API_ACCESS_KEY_FILE') Reflect.deleteProperty(env, 'SHIELDLOG_API_ACCESS_KEY')
    const files = { secret: 'secret\n' }
    const loaded = load({ env: { ...env, [name]: sampleOf(setting) }, files })
    expect(printed(loaded)).toMatch(new RegExp(`# environment ${name}$`, 'm'))
    expect(loaded.warnings).toEqual([])
  },
)

/** What cannot be set alone. */
function companions(name: string): Record<string, string> {
  if (name === 'SHIELDLOG_ZONES_ALL') return { SHIELDLOG_ZONES: '' }
  if (name.startsWith('SHIELDLOG_ZONES_')) return { SHIELDLOG_ZONES: 'all' }
  const tls = `${projectFolder}test/fixtures/tls`
  if (name.endsWith('_CERT_FILE'))
    return { [name.replace('CERT', 'KEY')]: `${tls}/client.key`, ...redisUrl(name) }
  if (name.endsWith('_TLS_KEY_FILE'))
    return { [name.replace('KEY', 'CERT')]: `${tls}/client.pem`, ...redisUrl(name) }
  if (name === 'SHIELDLOG_STATE_KEEP_DAYS') return { SHIELDLOG_POLL_READABLE_DAYS: '2' }
  if (name === 'SHIELDLOG_STATE_REDIS_NAME') return { SHIELDLOG_STATE_REDIS_SENTINELS: 'a,b:1' }
  if (name === 'SHIELDLOG_STATE_REDIS_SENTINELS') return { SHIELDLOG_STATE_REDIS_NAME: 'main' }
  return /REDIS_(URL|CLUSTER)$/.test(name) ? {} : redisUrl(name)
}

function redisUrl(name: string): Record<string, string> {
  return name.includes('_REDIS_') ? { SHIELDLOG_STATE_REDIS_URL: 'redis://h' } : {}
}

function sampleOf({ path, shape }: Setting): string {
  const last = path.at(-1) ?? ''
  const tls = `${projectFolder}test/fixtures/tls`
  const special: Readonly<Record<string, string>> = {
    accounts: '[{ name: a, accessKey: k, zones: [1] }]',
    sinks: '[{ type: stdout }]',
    state: 'sqlite:/x.db',
    baseUrl: 'https://h',
    caFile: `${tls}/ca.pem`,
    certFile: `${tls}/client.pem`,
    keyFile: `${tls}/client.key`,
    url: 'redis://h',
    cluster: 'a:1,b',
    sentinels: 'a:1,b',
  }
  return special[last] ?? (last.endsWith('File') ? './secret' : plainSample(forms(shape)[0] ?? {}))
}

function plainSample(form: Shape): string {
  if (form.items !== undefined) return plainSample(forms(form.items)[0] ?? {})
  if (form.const !== undefined || form.enum !== undefined) return String(form.const ?? form.enum?.at(-1))
  return form.type === 'string' ? 'text' : '2'
}

test('lists are separated by commas, or written as JSON or YAML', () => {
  const zonesOf = (text: string) =>
    load({ env: { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: text } }).config.accounts[0]?.zones
  const two = [
    { id: 101, name: '101', account: 'default' },
    { id: 102, name: 'shop', account: 'default' },
  ]
  expect(zonesOf(' 101 , 102,')?.map(({ id }) => id)).toEqual([101, 102])
  expect(zonesOf('[101, {"id": 102, "name": "shop"}]')).toEqual(two)
  expect(zonesOf('- 101\n- { id: 102, name: shop }')).toEqual(two)
})

test('an error in a document of the environment names the variable', () => {
  const env = { SHIELDLOG_SINKS: '[{ type: file', SHIELDLOG_ACCOUNTS: 'x' }
  expect(errorsOf({ yaml: basics, env })).toMatchObject([
    {
      path: 'sinks',
      problem: expect.stringContaining('is not valid YAML') as unknown,
      where: 'SHIELDLOG_SINKS:1',
    },
    { path: 'accounts', problem: expect.stringContaining('text') as unknown, where: 'SHIELDLOG_ACCOUNTS' },
  ])
})

test('an error in an item of the environment names its path', () => {
  const env = { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1,two' }
  expect(errorsOf({ env })).toMatchObject([{ path: 'zones[1]', value: '"two"', where: 'SHIELDLOG_ZONES' }])
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
