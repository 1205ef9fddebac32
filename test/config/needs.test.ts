import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadServerAddress } from '../../src/config/load.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { errorsOf, load } from './loading.ts'

const yaml = `
api: { accessKey: "\${API_KEY}", tls: { caFile: ./absent.pem } }
zones: [{ id: 101, name: shop }]
state: { redis: { url: "redis://h", passwordFile: ./password } }
sinks:
  - { type: http, name: siem, url: "\${SIEM_URL}", headers: { Authorization: "Bearer \${TOKEN}" } }
server: { tokenFile: ./absent }
`
const files = { password: 'of-the-state\n' }

test.each(['routes', 'state'] as const)(
  'a command that only reads %s uses no secret of API and sinks',
  (needs) => {
    const { config } = load({ yaml, files, needs })
    expect(config.accounts[0]).toMatchObject({ name: 'default', zones: [{ id: 101, name: 'shop' }] })
    expect(config.sinks.map(({ name }) => name)).toEqual(['siem'])
    expect(config.state).toMatchObject({ kind: 'redis' })
    // Using one says why it cannot be read.
    const reveal = () => config.accounts[0]!.accessKey.reveal()
    expect(reveal).toThrow('api.accessKey uses ${API_KEY}, which is not set')
  },
)

test('accounts without a key keep their zones for a command that only reads', () => {
  const accounts = 'accounts: [{ name: one, zones: [1] }, { name: two, zones: [2] }]'
  const { config } = load({ yaml: accounts, needs: 'routes' })
  expect(config.accounts.map(({ name, zones }) => [name, zones[0]?.id])).toEqual([
    ['one', 1],
    ['two', 2],
  ])
  expect(load({ yaml: 'zones: [7]', needs: 'routes' }).config.accounts[0]?.zones).toHaveLength(1)
})

test('requires only the settings that the command needs', () => {
  expect(errorsOf({}).map(({ path }) => path)).toEqual(['api.accessKey', 'zones'])
  expect(errorsOf({ needs: 'key' }).map(({ path }) => path)).toEqual(['api.accessKey'])
  expect(errorsOf({ needs: 'routes' }).map(({ path }) => path)).toEqual(['zones'])
  expect(errorsOf({ needs: 'state' })).toEqual([])
  expect(load({ needs: 'nothing' }).config.accounts).toEqual([])
})

test('the address of the server is read whatever is wrong elsewhere', () => {
  const cwd = temporaryFolder()
  writeFileSync(
    join(cwd, 'shieldlog.yaml'),
    'zones: 7\nsinks: [{ type: fil }]\nserver: { port: 80, tokenFile: ./none }',
  )
  const { token, ...address } = loadServerAddress(undefined, { SHIELDLOG_SERVER_HOST: 'h' }, cwd)
  expect([address, token?.isResolved]).toEqual([{ host: 'h', port: 80 }, false])
  expect(() => loadServerAddress(undefined, { SHIELDLOG_SERVER_PORT: 'x' }, cwd)).toThrow('server.port = "x"')
})
