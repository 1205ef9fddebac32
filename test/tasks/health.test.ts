import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadServerAddress } from '../../src/config/load.ts'
import { listenOn } from '../../src/server/listen.ts'
import { serveHttp } from '../setup/http-server.ts'
import { startCli, type ProcessOptions } from '../setup/processes.ts'
import { executeWith } from './workshop.ts'
import { temporaryFolder } from '../setup/temp.ts'

async function healthOf(
  settings: string,
  env: ProcessOptions['env'] = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'shieldlog.yaml'), settings)
  const child = startCli(['health'], { cwd, env: { SHIELDLOG_API_ACCESS_KEY: undefined, ...env } })
  const { code } = await child.exited
  return { code, stdout: child.stdout(), stderr: child.stderr() }
}

const serve = async (status: number) =>
  (await serveHttp((_, response) => response.writeHead(status).end())).port

test('the port comes from the configuration, no key is needed and no proxy is used', async () => {
  const port = await serve(200)
  const env = { SHIELDLOG_SERVER_PORT: String(port), HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '' }
  const settings = 'api: { accessKey: "${NOT_SET}" }\nserver: { port: 1, tokenFile: gone }\n'
  expect(await healthOf(settings, env)).toEqual({
    code: 0,
    stdout: `http://127.0.0.1:${port}/healthz answers 200\n`,
    stderr: '',
  })
})

const loopback = Object.entries(networkInterfaces()).find(
  ([, all]) => all?.some(({ internal }) => internal) === true,
)
const hosts = ['127.0.0.1', 'localhost', '::1', '[::1]', `::1%${loopback?.[0]}`, '::', '0.0.0.0', '::0']

test.each(hosts)('a server on %s is asked where it listens', async (written) => {
  const file = join(temporaryFolder(), 'shieldlog.yaml')
  const settings = (port: number) => `server: { host: ${JSON.stringify(written)}, port: ${port} }`
  writeFileSync(file, settings(0))
  const { host } = loadServerAddress(file, {})
  await using server = createServer((_, response) => response.end())
  const { port } = await listenOn(server, host, 0)
  writeFileSync(file, settings(port))
  expect(await executeWith(file, ['health'])).toMatchObject({
    stdout: expect.stringMatching(`^http://.+:${port}/healthz answers 200\n$`) as string,
    stderr: '',
  })
})

test.each([
  ['503', async () => `server: { port: ${await serve(503)} }`, /\/healthz answered 503\n$/],
  [
    'a refused connection',
    async () => 'server: { port: 1 }',
    /127\.0\.0\.1:1\/healthz: connection refused\n$/,
  ],
  ['port 0', async () => 'server: { port: 0 }', /^server\.port is 0/],
  [
    'a wrong port',
    async () => 'server: { port: 99999 }',
    /server\.port = 99999 \(\S+shieldlog\.yaml:1\): is too large; /,
  ],
  [
    'a name that is not set',
    async () => 'server: { host: "${NOT_SET}" }',
    /server\.host .*: uses \$\{NOT_SET\}/,
  ],
  ['invalid YAML', async () => 'server: [', /shieldlog\.yaml/],
])('%s is one line and exit code 1', async (_, settings, line) => {
  const file = join(temporaryFolder(), 'shieldlog.yaml')
  writeFileSync(file, await settings())
  const { code, stdout, stderr } = await executeWith(file, ['health'])
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(line)
  expect(stderr.trim().split('\n')).toHaveLength(1)
})
