import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reloaded } from '../../src/config/compare.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { basics, errorsOf, load, printed } from './loading.ts'

const tls = `${projectFolder}test/fixtures/tls`

function configOf(yaml: string, cwd?: string) {
  return load({ yaml: basics + yaml, ...(cwd === undefined ? {} : { cwd }) }).config
}

const servers = 'sentinels: [a, "b:1"], name: main, username: u, password: p, keyPrefix: x'

test.each([
  ['"sqlite:x.db"', { kind: 'sqlite', path: '/w/x.db' }],
  ['"sqlite:/y/x.db"', { kind: 'sqlite', path: '/y/x.db' }],
  ['"sqlite:///y/x.db"', { kind: 'sqlite', path: '/y/x.db' }],
  ['"redis://h"', { topology: 'single', nodes: [{ host: 'h', port: 6379 }], db: 0, tls: undefined }],
  ['"redis://u@h:7000/3"', { nodes: [{ host: 'h', port: 7000 }], db: 3, username: 'u' }],
  ['"redis://[::1]:7000"', { nodes: [{ host: '::1', port: 7000 }] }],
  ['"rediss://h"', { tls: {} }],
  ['"redis://u%40x:p%2Fw@h"', { username: 'u@x', password: 'p/w' }],
  ['"redis://:50%off@h"', { password: '50%off' }],
  [
    `{ keepDays: 4, redis: { ${servers}, tls: { caFile: ${tls}/ca.pem } } }`,
    {
      kind: 'redis',
      topology: 'sentinel',
      primary: 'main',
      username: 'u',
      password: 'p',
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 1 },
      ],
      keyPrefix: 'x',
      keepDays: 4,
      tls: { ca: expect.stringContaining('BEGIN CERTIFICATE') as string },
    },
  ],
])('state: %s', (written, expected) => {
  const { state } = configOf(`state: ${written}\n`)
  const seen =
    state.kind === 'sqlite'
      ? { ...state, path: state.path.replace(/^.*\/shieldlog-test-\w+/, '/w') }
      : { tls: undefined, ...state, password: state.password?.reveal() }
  expect(seen).toMatchObject({ keepDays: 14, ...expected })
})

test.each([
  ['poll: { readableDays: 30 }', 30],
  ['poll: { readableDays: 30 }\nstate: { keepDays: 31 }', 31],
  ['poll: { readableDays: 5 }\nstate: { keepDays: 5 }', 5],
])('checkpoints are kept for as long as the API lists their days, at least: %s', (yaml, days) => {
  expect(configOf(`${yaml}\n`).state.keepDays).toBe(days)
})

test('defaults that depend on readableDays follow it', () => {
  expect(configOf('poll: { readableDays: 2 }\n').poll).toMatchObject({
    firstRunDays: 2,
    settleAfterHours: [0.5, 6],
  })
  expect(configOf('poll: { settleAfterHours: [6, 0.5, 6, 46.9] }\n').poll.settleAfterHours).toEqual([
    0.5, 6, 46.9,
  ])
})

test('certificates are read, and must fit together', () => {
  const route = `certFile: ${tls}/client.pem, keyFile: ${tls}/client.key`
  expect(configOf(`sinks: [{ type: http, url: "http://h/", tls: { ${route} } }]\n`).sinks).toHaveLength(1)
  const cases: [string, string][] = [
    [`certFile: ${tls}/client.pem, keyFile: ${tls}/server.key`, 'api.tls'],
    [`certFile: ${tls}/client.pem`, 'api.tls.keyFile'],
    [`keyFile: ${tls}/client.key`, 'api.tls.certFile'],
  ]
  for (const [files, path] of cases) {
    const yaml = `api: { accessKey: k, tls: { ${files} } }\nzones: [1]\n`
    expect(errorsOf({ yaml }).map((error) => error.path)).toEqual([path])
  }
})

test('the address of the API has no slash at its end, and modes are numbers', () => {
  const yaml =
    'api: { accessKey: k, baseUrl: "https://h/v1//" }\nzones: [1]\nsinks: [{ type: file, path: x, mode: "640" }]\n'
  const { api, sinks } = load({ yaml }).config
  expect(api.baseUrl).toBe('https://h/v1')
  expect(sinks).toMatchObject([{ mode: 0o640, dirMode: 0o700 }])
})

test('two file sinks cannot share a folder, also through a link', () => {
  const cwd = temporaryFolder()
  symlinkSync(cwd, join(cwd, 'link'))
  const yaml = `${basics}sinks: [{ type: file, path: ./a }, { type: file, name: b, path: ./link/a }]\n`
  expect(errorsOf({ yaml, cwd }).map(({ path }) => path)).toEqual(['sinks[1].path'])
})

test('lists what a reload changes, and what needs a restart', () => {
  const cwd = temporaryFolder()
  const sinks =
    'sinks: [{ type: http, name: siem, url: "http://h/", headers: { A: one } }, { type: stdout }]\n'
  const old = configOf(sinks, cwd)
  expect(reloaded(old, configOf(sinks, cwd))).toMatchObject({ changed: [], needsRestart: [] })
  const yaml = `api: { accessKey: other }
zones: [{ id: 101, name: shop }, 102]
poll: { everySeconds: 5 }
state: sqlite:y.db
server: { port: 0, token: t }
log: { level: debug }
sinks: [{ type: stdout }, { type: http, name: siem, url: "http://h/", headers: { A: two } }, { type: file, path: x }]
redact: off
`
  const { config, changed, needsRestart } = reloaded(old, load({ yaml, cwd }).config)
  const sections = ['accounts', 'log', 'poll', 'redact', 'server', 'sinks', 'state', 'zones']
  expect(changed.toSorted()).toEqual(sections)
  expect(needsRestart.toSorted()).toEqual(['server', 'state'])
  expect([config.state, config.server]).toEqual([old.state, old.server])
})

test('a change of a certificate is a change', () => {
  const cwd = temporaryFolder()
  const [old, next] = ['client', 'server'].map((name) => {
    const files = `{ certFile: ${tls}/${name}.pem, keyFile: ${tls}/${name}.key }`
    return configOf(`state: { redis: { url: "redis://h", tls: ${files} } }\n`, cwd)
  })
  expect(reloaded(old!, next!).changed).toEqual(['state'])
})

test('all zones of an account, in the short and the long form', () => {
  const yaml = `accounts:
  - { name: one, accessKey: k, zones: all }
  - { name: two, accessKey: l, zones: { all: true, exclude: [103], everyMinutes: 0.02 } }
  - { name: three, accessKey: m, zones: [101] }
`
  const short = load({ yaml: 'api: { accessKey: k }\nzones: all' })
  expect(short.config.accounts[0]?.discovery).toEqual({ exclude: [], everyMinutes: 15 })
  expect(printed(short)).toMatch(/^zones: all # file /m)
  const { accounts } = load({ yaml }).config
  expect(accounts.map(({ discovery }) => discovery?.everyMinutes)).toEqual([15, 0.02, undefined])
  expect(accounts[2]?.zones).toEqual([{ id: 101, name: '101', account: 'three' }])
})

test('server and metrics are off unless configured, and an application belongs to an account', () => {
  const metricsOf = (metrics: string, accounts = basics) =>
    load({ yaml: `${accounts}metrics: ${metrics}\n` }).config.metrics
  expect(configOf('')).toMatchObject({ metrics: {}, server: { configured: false } })
  expect(configOf('server: { port: 0 }\n').server.configured).toBe(true)
  expect(metricsOf('{ uploadScanning: {} }')).toEqual({ uploadScanning: { everyMinutes: 60 } })
  expect(metricsOf('{ volumes: { apps: [shop], everyMinutes: 0.02 } }')).toEqual({
    volumes: { apps: [{ id: 'shop', account: 'default' }], everyMinutes: 0.02 },
  })
  const two =
    'accounts: [{ name: main, accessKey: a, zones: [1] }, { name: second, accessKey: b, zones: [2] }]\n'
  const apps = [{ id: 'shop', account: 'second' }]
  expect(metricsOf(JSON.stringify({ volumes: { apps } }), two).volumes?.apps).toEqual(apps)
})

const places = `notify:
  - { name: ops, kind: slack, url: "https://hooks.example/token-of-ops" }
  - { name: pager, kind: pagerduty, routingKey: key-of-pager }
heartbeat: { url: "https://hc.example/ping/token-of-beat" }
`

test('places and the heartbeat are read, and their addresses are secrets', () => {
  const loaded = load({ yaml: basics + places })
  const [ops, pager] = loaded.config.notify
  expect([ops!.url.reveal(), pager!.url.reveal()]).toEqual([
    'https://hooks.example/token-of-ops',
    'https://events.pagerduty.com/v2/enqueue',
  ])
  expect(loaded.config.heartbeat).toMatchObject({ everyMinutes: 1 })
  expect(printed(loaded)).not.toMatch(/token-of|key-of/)
})
