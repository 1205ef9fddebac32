import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { ConfigErrors } from '../../src/config/errors.ts'
import type { Loaded } from '../../src/config/load.ts'
import { Secret } from '../../src/domain/text/secret.ts'
import type { HttpSinkConfig } from '../../src/sinks/http/config.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { basics, errorsOf, load, printed } from './loading.ts'

const canary = 'canary-7c1e'
const tlsFolder = `${projectFolder}test/fixtures/tls`

function everyForm(loaded: Loaded, { config, warnings } = loaded): string {
  const shown = [config, warnings]
  return [printed(loaded), JSON.stringify(shown), inspect(shown, { depth: 20 })].join('\n')
}

const everySecret = `
accounts:
  - { name: one, accessKey: ${canary}-1, zones: [1] }
  - { name: two, accessKey: "\${KEY}", zones: [2] }
  - { name: three, accessKeyFile: ./key, zones: [3] }
state: { redis: { url: "redis://user:${canary}-4@h" } }
sinks:
  - type: http
    url: https://siem.example/in?token=${canary}-5
    headers: { Authorization: "Bearer ${canary}-6", X-Key: "\${file:./key}", X-Own: "\${KEY}" }
    tls: { certFile: ${tlsFolder}/client.pem, keyFile: ${tlsFolder}/client.key }
  - { type: http, name: drop, url: "\${file:./url}" }
  - { type: http, name: hook, url: "https://siem.example:8088/services/${canary}-token-11/in" }
server: { token: ${canary}-7 }
`

test('no secret appears in any representation of the loaded configuration', () => {
  const files = { key: `${canary}-8\n`, url: `https://siem.example/receiver/${canary}-9\n` }
  const loaded = load({ yaml: everySecret, files, env: { KEY: `${canary}-10` } })
  const [http, dropping] = loaded.config.sinks
  const { tls } = http?.type === 'http' ? http : {}
  expect(tls?.key).toContain('PRIVATE KEY')
  expect(loaded.config.state).toMatchObject({ kind: 'redis', password: new Secret('x'), username: 'user' })
  expect(dropping).toMatchObject({ url: `https://siem.example/receiver/${canary}-9` })

  // A plain URL is what the sink needs; for people its path is hidden when it came from a secret file.
  expect(printed(loaded)).toContain('url: https://siem.example:8088/services/***/in')
  const { config } = loaded
  expect(everyForm(loaded, { ...loaded, config: { ...config, sinks: [] } })).not.toContain(canary)
  expect(inspect(http, { depth: 20 }).replaceAll(`token=${canary}-5`, '')).not.toContain(canary)
  expect(JSON.stringify(loaded.config) + inspect(loaded.config, { depth: 20 })).not.toContain('PRIVATE KEY')
  expect(printed(loaded)).toContain('url: https://siem.example/***')
})

test.each([
  '"redis://:${file:./pw}@h"',
  '{ url: "redis://:${file:./pw}@h" }',
  '{ redis: { url: "redis://u:${file:./pw}@h" } }',
])('a password that a file inserts into the URL of the state is read again: %s', (state) => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'pw'), 'old\n')
  const { config } = load({ yaml: `${basics}\nstate: ${state}`, cwd })
  const password = config.state.kind === 'redis' ? config.state.password : undefined
  expect(password?.reveal()).toBe('old')
  writeFileSync(join(cwd, 'pw'), 'n%65w\n')
  expect([password?.reread(), password?.reveal()]).toEqual([true, 'new'])
})

const bad: readonly string[] = [
  `api: { accessKey: [${canary}] }`,
  `api: { accessKey: { key: ${canary} } }`,
  `api: { accessKey: "${canary}\\n${canary}" }`,
  `api: { accessKey: "${canary}\${NOPE}" }`,
  `api: { accessKey: "${canary}\${" }`,
  `api: { accessKey: "${canary} ", accessKeyFile: ./none }`,
  `api: ${canary}`,
  `accounts: [${canary}]`,
  `sinks: [{ type: http, url: "http://u:${canary}@h/" }]`,
  `sinks: [{ type: http, url: "u:${canary}@h" }]`,
  `sinks: [{ type: http, url: "http://u:?${canary}@h/" }]`,
  `sinks: [{ type: http, url: "http://h/?key=${canary}#${canary}" }]`,
  `sinks: [{ type: http, url: "http://h/", headers: ${canary} }]`,
  `sinks: [{ type: http, url: "http://h/", headers: ["Authorization: ${canary}"] }]`,
  `sinks: [{ type: http, url: "http://h/", headers: { "Authorization: ${canary}": x } }]`,
  `sinks: [{ type: http, url: "http://h/", headers: { A: "${canary}\\u0000" } }]`,
  `sinks: [{ type: http, "url: ${canary}": x }]`,
  `state: "redis://:${canary}@h/x"`,
  `state: "redis://:${canary}%zz@h/0"`,
  `state: "postgres://:${canary}@h"`,
  `state: { redis: { cluster: ["u:${canary}@h"] } }`,
  `state: { redis: { url: "redis://:a@h", password: ${canary} } }`,
  `server: { port: "\${PORT}" }`,
]

test.each(bad)('no secret appears in the errors of %s', (yaml) => {
  const given = { yaml, env: { SHIELDLOG_ZONES: '1', PORT: `${canary}-port` } }
  const errors = errorsOf(given)
  expect(errors.length).toBeGreaterThan(0)
  const error = new ConfigErrors(errors)
  expect(
    [error.message, error.stack, JSON.stringify(error), inspect(error, { depth: 9 })].join(),
  ).not.toContain(canary)
})

test('a secret is read again from its file, and an invalid file changes nothing', () => {
  const cwd = temporaryFolder()
  const yaml = `api: { accessKeyFile: ./key }
zones: [1]
sinks:
  - { type: http, url: "http://h/\${file:./code}", headers: { Authorization: "Bearer \${file:./token}" } }
  - { type: http, name: other, url: "http://h/\${NAME:-in}" }
server: { token: fixed }
`
  const loaded = load({ yaml, files: { key: 'one\r\n', token: 'two', code: 'old' }, cwd })
  const { config } = loaded
  const [sink, other] = config.sinks
  const key = config.accounts[0]?.accessKey
  const header = sink?.type === 'http' ? sink.headers['Authorization'] : undefined
  expect([key?.reveal(), header?.reveal()]).toEqual(['one', 'Bearer two'])

  // The file is shown instead of the secret.
  expect(printed(loaded)).toMatch(/^  accessKeyFile: .*\/key # file/m)
  expect(printed(loaded)).not.toContain('accessKey:')
  writeFileSync(join(cwd, 'key'), 'three\n')
  writeFileSync(join(cwd, 'token'), 'four\n')
  expect([key?.reread(), header?.reread(), config.server.token?.reread()]).toEqual([true, true, false])
  expect([key?.reveal(), header?.reveal()]).toEqual(['three', 'Bearer four'])

  const url = (sink as HttpSinkConfig).secretUrl
  expect([url?.reread(), url?.reveal(), other]).toEqual([
    false,
    'http://h/old',
    expect.not.objectContaining({ secretUrl: expect.anything() as unknown }),
  ])
  writeFileSync(join(cwd, 'code'), 'new')
  expect([url?.reread(), url?.reveal()]).toEqual([true, 'http://h/new'])
  expect(printed(loaded)).not.toContain('secretUrl')

  writeFileSync(join(cwd, 'key'), '\n')
  expect(key?.reread()).toBe(false)
  expect(key?.reveal()).toBe('three')
})

test('refuses an empty secret from any origin', () => {
  const files = { empty: '\n' }
  for (const api of ['{ accessKey: "" }', '{ accessKey: "${E}" }', '{ accessKeyFile: ./empty }'])
    expect(errorsOf({ yaml: `api: ${api}\nzones: [1]\n`, files, env: { E: '' } })).toMatchObject([
      {
        path: expect.stringMatching(/^api\.accessKey/) as unknown,
        problem: expect.stringContaining('empty') as unknown,
      },
    ])
  expect(errorsOf({ yaml: `${basics}state: { redis: { url: "redis://h", password: "" } }` })).toMatchObject([
    { path: 'state.redis.password', problem: 'is empty' },
  ])
})

test('an unquoted secret that YAML reads as a number does not appear either', () => {
  const yaml = `api: { accessKey: 71717171 }
zones: [1]
sinks: [{ type: http, url: "http://h/", headers: { A: 71717171 } }]
state: { redis: { url: "redis://h", password: 71717171 } }
`
  const errors = errorsOf({ yaml })
  expect(errors.map(({ path, remedy }) => [path, remedy])).toEqual([
    ['api.accessKey', 'write it in quotes'],
    ['state.redis.password', 'write it in quotes'],
    ['sinks[0].headers.A', 'write it in quotes'],
  ])
  expect(JSON.stringify(errors)).not.toContain('71717171')
})
