import { expect, test } from 'vitest'
import { load } from './loading.ts'

const key = { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1' }
const sink = (url: string, headers = {}) => ({ sinks: [{ type: 'http', name: 'siem', url, headers }] })
const sentinel = (loginUrl: string) => ({
  sinks: [
    {
      type: 'http',
      preset: 'sentinel',
      name: 'azure',
      url: 'https://x.ingest.monitor.azure.com',
      ruleId: 'dcr-1',
      stream: 'Custom-Shield',
      tenantId: 't',
      clientId: 'c',
      clientSecret: 'hunter2',
      loginUrl,
    },
  ],
})
const header = { Authorization: 'Bearer hunter2' }

test.each([
  [sink('http://siem.example/in', header), 'sinks[0].url: shieldlog sends the credentials of sink siem'],
  [sink('http://10.0.0.4:8080/', header), 'sinks[0].url'],
  [{ api: { baseUrl: 'http://gate.example' } }, 'api.baseUrl: shieldlog sends the access key'],
  [
    sentinel('http://login.example'),
    'sinks[0].loginUrl: shieldlog sends the client secret of sink azure to login.example unencrypted; use https',
  ],
])('warns about credentials over plain http: %j', (settings, text) => {
  const { warnings } = load({ yaml: JSON.stringify(settings), env: key })
  expect(warnings).toEqual([expect.stringContaining(text)])
  expect(warnings[0]).not.toContain('hunter2')
})

test.each([
  sink('https://siem.example/in', header),
  sink('http://127.0.0.1:8080/', header),
  sink('http://[::1]:8080/', header),
  sink('http://localhost:8080/', header),
  sink('http://siem.example/in'),
  { api: { baseUrl: 'http://127.0.0.1:9' } },
  sentinel('https://login.example'),
  sentinel('http://127.0.0.1:9'),
])('does not warn about https, loopback addresses, or URLs without credentials: %j', (settings) => {
  expect(load({ yaml: JSON.stringify(settings), env: key }).warnings).toEqual([])
})
