import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WireEntry } from '../../src/simulator/simulator.ts'
import { waitFor } from '../setup/wait-for.ts'
import { receiver } from './receiver.ts'
import { linesBelow } from './shipped.ts'
import { accessKey, readableDays, workplace } from './workplace.ts'

const zone = 101
const today = readableDays()[2]
const poison = 'this-one-is-refused'
const sinkToken = 'canarysinktoken'
const serverToken = 'canaryservertoken'

/** One word for each place that a secret may come from. */
const canaries = {
  cookie: 'canarycookie',
  authorization: 'canarybearer',
  proxy: 'canaryproxy',
  setCookie: 'canarysetcookie',
  own: 'canaryownheader',
  body: 'canarybody',
  query: 'canaryquery',
  plain: 'canaryplaintext',
}

function logOf(path: string) {
  return {
    Message: 'SQL Injection',
    Url: `https://shop.example.com${path}?a=1&Session=${canaries.query}&b=2`,
    RemoteIp: '198.18.0.7',
    UrlEncodedBody: `user=admin&password=${canaries.body}`,
    Headers: [
      { Name: 'COOKIE', Value: `session=${canaries.cookie}; cart=1` },
      { Name: 'Authorization', Value: `Bearer ${canaries.authorization}` },
      { Name: 'proxy-authorization', Value: canaries.proxy },
      { Name: 'Set-Cookie', Value: `sid=${canaries.setCookie}; Secure` },
      { Name: 'X-Own-Key', Value: canaries.own },
      { Name: 'Referer', Value: `https://www.example.org/?session=${canaries.query}` },
      { Name: 'User-Agent', Value: 'curl/8.5.0' },
    ],
    // A rule tells what it matched: the secret once more.
    TriggerMatch: { Key: 'RX', Value: canaries.cookie },
  }
}

const plainLog = [
  `GET /login?session=${canaries.query}&x=1 HTTP/1.1`,
  `Cookie: session=${canaries.plain}`,
  `Authorization: Bearer ${canaries.authorization}`,
  'Host: shop.example.com',
].join('\r\n')

function entries(): WireEntry[] {
  const labels = { status: 'Blocked', ruleId: '942100', severity: 'CRITICAL' }
  const logs = [
    JSON.stringify(logOf('/text')),
    logOf('/object'),
    plainLog,
    JSON.stringify(logOf(`/${poison}`)),
  ]
  return logs.map((log, index) => ({ logId: `entry-${index}`, timestamp: Date.now() - index, log, labels }))
}

test('no secret of a request or of the configuration leaves the process', async () => {
  const siem = await receiver()
  siem.answer(({ text }) =>
    text.includes(poison) ? { status: 400, body: `refused: ${text}` } : { status: 200 },
  )
  const place = await workplace({ zones: [zone], days: { [today]: 0 } })
  const { simulator, folder, events } = place
  simulator.append(zone, today, entries())
  const secrets = join(folder, 'secrets')
  writeFileSync(secrets, sinkToken)
  place.configure({
    api: { baseUrl: simulator.url, accessKey: '${CANARY_KEY}' },
    zones: [zone],
    redact: {
      headers: ['cookie', 'set-cookie', 'authorization', 'proxy-authorization', 'x-own-key'],
      query: ['session'],
    },
    server: { port: 0, token: serverToken },
    log: { level: 'trace', format: 'json' },
    sinks: [
      { name: 'native', type: 'file', path: events },
      { name: 'raw', type: 'file', format: 'raw', path: join(folder, 'raw') },
      { name: 'siem', type: 'http', url: siem.url, headers: { Authorization: `Bearer \${file:${secrets}}` } },
    ],
  })
  const options = { env: { CANARY_KEY: accessKey } }
  const child = place.start(['run'], options)
  const [, address] = await child.waitForLine(/"event":"ServerListening".*"address":"([^"]+)"/)
  await waitFor(() => linesBelow(events).length === 4 && siem.taken.length === 3, {
    what: () => child.stderr(),
  })
  const bearer = { headers: { authorization: `Bearer ${serverToken}` } }
  const served = await Promise.all(
    ['/metrics', '/status', '/readyz', '/healthz'].map(async (path) =>
      (await fetch(`${address}${path}`, bearer)).text(),
    ),
  )
  // The dead letter is told by the metrics: it stands in the store by now.
  await waitFor(
    async () =>
      /^shieldlog_dead_letters\{.*\} 1$/m.test(await (await fetch(`${address}/metrics`, bearer)).text()),
    {
      what: () => child.stderr(),
    },
  )
  const liveStore = bytesBelow(folder)
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })

  const commands = [
    ['status', '--json'],
    ['dead-letters', 'list', '--json'],
    ['config', 'print'],
    ['fetch', '--zone', String(zone), '--day', today],
    ['fetch', '--zone', String(zone), '--day', today, '--format', 'raw'],
    ['check'],
  ]
  const printed = await Promise.all(commands.map((args) => place.ended(args, options)))
  const everywhere = [
    ...served,
    ...liveStore,
    ...bytesBelow(folder),
    child.stdout(),
    child.stderr(),
    ...siem.got.map(({ text }) => text),
    ...printed.flatMap(({ stdout, stderr }) => [stdout, stderr]),
  ]
  // It looked at the right things: what is no secret is found in all of them.
  const shipped = siem.taken.join('\n')
  for (const known of ['entry-0', 'entry-1', 'entry-2', '[redacted]', 'curl/8.5.0'])
    expect(shipped).toContain(known)
  expect(everywhere.filter((text) => text.includes('entry-3')).length).toBeGreaterThan(4)
  for (const secret of [...Object.values(canaries), sinkToken, serverToken, accessKey]) {
    const found = everywhere.filter((text) => text.includes(secret))
    expect(
      found.map((text) => text.slice(Math.max(0, text.indexOf(secret) - 300), text.indexOf(secret) + 100)),
    ).toEqual([])
  }
})

/** Every file but those that hold secrets by design. */
function bytesBelow(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return files
    .filter(({ name }) => name !== 'secrets' && name !== 'shieldlog.yaml')
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
}
