import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { probeOf } from '../e2e/metrics.ts'
import type { Settings } from '../e2e/workplace.ts'
import { freePort } from '../setup/free-port.ts'
import { waitFor } from '../setup/wait-for.ts'
import { accessKey, openWorkshop, openWorkshopWithApi } from './workshop.ts'

const siem = { name: 'siem', type: 'http', url: 'http://127.0.0.1:9' }

test.each<[what: string, settings: (at: (name: string) => string) => Settings, code: number]>([
  ['a secret that is not there', (at) => ({ api: { accessKeyFile: at('absent') } }), 75],
  ['an empty secret', (at) => ({ api: { accessKeyFile: at('empty') } }), 75],
  [
    'a secret within a header',
    (at) => ({ sinks: [{ ...siem, headers: { A: `x \${file:${at('absent')}}` } }] }),
    75,
  ],
  ['a certificate that is not there', (at) => ({ api: { accessKey, tls: { caFile: at('absent') } } }), 75],
  ['an empty certificate', (at) => ({ api: { accessKey, tls: { caFile: at('empty') } } }), 75],
  [
    'a secret that is not there, and a wrong setting',
    (at) => ({ api: { accessKeyFile: at('absent') }, zones: ['x'] }),
    78,
  ],
  ['a folder in the place of a secret', (at) => ({ api: { accessKeyFile: at('folder.d') } }), 78],
  ['a certificate that is none', (at) => ({ api: { accessKey, tls: { caFile: at('shieldlog.yaml') } } }), 78],
  ['a variable that is not set', () => ({ api: { accessKey: '${SHIELDLOG_TEST_UNSET}' } }), 78],
])(
  '%s ends check and run --once with the code of a retry, or of a wrong setting',
  async (_, settings, code) => {
    const { configure, execute, folder } = openWorkshop()
    configure(settings((name) => join(folder, name)))
    writeFileSync(join(folder, 'empty'), '')
    mkdirSync(join(folder, 'folder.d'))
    expect((await execute('check', '--offline')).code).toBe(code)
    expect((await execute('run', '--once')).code).toBe(code)
  },
)

test('run waits for a secret that is not there yet with one line, then ships; a new token needs no restart', async () => {
  const { folder, start, simulator } = await openWorkshopWithApi(
    { days: 5 },
    { server: { port: 0, tokenFile: './token' }, log: { level: 'info' } },
  )
  await using running = start(['run'])
  await running.waitForLine(/waits for files that the configuration names: server.tokenFile/)
  expect(simulator.requests).toEqual([])
  writeFileSync(join(folder, 'token'), 'first\n')
  const { get } = await probeOf(running)
  const statusWith = async (token: string) => {
    const address = /"address":"([^"]+)"/.exec(running.stderr())![1]!
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${address}/metrics`, { headers })).status
  }
  await waitFor(async () => (await get('/readyz')).status === 200, { what: () => running.stderr() })
  expect(running.stderr().match(/waits for files/g)).toHaveLength(1)
  expect([await statusWith('first'), await statusWith('second')]).toEqual([200, 401])
  writeFileSync(join(folder, 'token'), 'second\n')
  expect([await statusWith('second'), await statusWith('first')]).toEqual([200, 401])
  writeFileSync(join(folder, 'token'), '')
  expect(await statusWith('second')).toBe(200)
})

const named = (setting: string) => expect.stringMatching(RegExp(`${setting}.*absent`)) as string
const openReason = 'waits for the file of server.tokenFile; the other reasons need that token'

test.each([
  ['gives the reason', { accessKeyFile: './absent' }, {}, [named('api.accessKeyFile')], undefined],
  ['gives it only to who has the token', { accessKeyFile: './absent' }, { token: 'own' }, undefined, 'own'],
  [
    'says that the token is what it waits for',
    { accessKey },
    { tokenFile: './absent' },
    [openReason],
    undefined,
  ],
])(
  'run that waits for a file answers probes: alive, not ready; it %s',
  async (_, api, server, open, token) => {
    const port = await freePort()
    const { simulator } = await openWorkshopWithApi({ days: 5 })
    const { folder, start } = openWorkshop({
      api: { baseUrl: simulator.url, ...api },
      server: { port, ...server },
    })
    await using running = start(['run'])
    await running.waitForLine(/waits for files/)
    const ask = async (path: string, authorization = '') => {
      const headers = { ...(authorization !== '' && { authorization: `Bearer ${authorization}` }) }
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      return [answer.status, await answer.json()] as const
    }
    await waitFor(async () => (await ask('/healthz').catch(() => [0]))[0] === 200, { what: 'the server' })
    expect(await ask('/readyz')).toEqual([503, { ready: false, ...(open && { reasons: open }) }])
    if (token !== undefined)
      expect(await ask('/readyz', token)).toEqual([
        503,
        { ready: false, reasons: [named('api.accessKeyFile')] },
      ])
    writeFileSync(join(folder, 'absent'), accessKey)
    await waitFor(async () => (await ask('/readyz').catch(() => [0]))[0] === 200, {
      what: () => running.stderr(),
    })
  },
)

test('a token whose file comes while run waits for another file gives the reason', async () => {
  const port = await freePort()
  const server = { port, tokenFile: './token' }
  const { folder, start } = openWorkshop({ api: { accessKeyFile: './absent' }, server })
  await using running = start(['run'])
  await running.waitForLine(/ServerListening/)
  writeFileSync(join(folder, 'token'), 'first')
  const headers = { authorization: 'Bearer first' }
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { headers })
  expect(await answer.json()).toEqual({ ready: false, reasons: [named('api.accessKeyFile')] })
})

test('run that waits for a secret ends with 0 at a signal', async () => {
  const { start } = openWorkshop({ api: { accessKeyFile: './absent' }, server: { port: 0 } })
  await using running = start(['run'])
  await running.waitForLine(/waits for files/)
  await running.kill('SIGTERM')
  expect((await running.exited).code).toBe(0)
})
