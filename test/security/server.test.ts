import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { workplace } from '../e2e/workplace.ts'

const token = 'the-token-of-the-server'

/** Sends bytes as they are and reads whatever comes back until the other end is done or silent. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('latin1').on('data', (part: string) => (answer += part))
    // Whatever is left open would be the answer to nothing.
    socket.setTimeout(60_000, () => socket.destroy())
    socket
      .on('close', () => resolve(answer))
      .on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
  })
}

const ask = (line: string, headers = '') => `${line}\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`
/** Nothing of these is a probe, so that nothing of it may be answered. */
const strangers = [
  ...['GET', 'HEAD', 'POST', 'OPTIONS', 'TRACE', 'QUERY'].flatMap((method) =>
    ['/metrics', '/status', '/', '/nothing'].map((path) => ask(`${method} ${path} HTTP/1.1`)),
  ),
  ...String.raw`
    /metrics/ /metrics?x /metrics#x //metrics /./metrics /healthz/../metrics /healthz/ /healthz%00 /HEALTHZ
    /%6detrics /healthz;/../metrics /healthz\..\metrics /metrics%20 metrics * http://x/metrics http://x/healthz
    /healthz%3f/metrics`
    .trim()
    .split(/\s+/)
    .map((path) => ask(`GET ${path} HTTP/1.1`)),
  ask('GET /metrics HTTP/1.0'),
  ask('OPTIONS * HTTP/1.1'),
  ask('CONNECT x:443 HTTP/1.1'),
  ask('GET /metrics HTTP/1.1', 'X-Original-URL: /healthz\r\nX-Forwarded-For: 127.0.0.1\r\n'),
  ask('GET /metrics HTTP/1.1', `Cookie: token=${token}\r\n`),
  ask(`GET /metrics?token=${token} HTTP/1.1`),
  ask('GET /metrics HTTP/1.1', `Authorization: Basic ${Buffer.from(`x:${token}`).toString('base64')}\r\n`),
  ask('GET /metrics HTTP/1.1', 'Authorization: Bearer\r\nAuthorization: Bearer x\r\n'),
  ask('GET /metrics HTTP/1.1', `Authorization: Bearer x\r\nAuthorization: Bearer ${token}\r\n`),
  // One that is let in does not let in the next one over its connection.
  `GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${ask('GET /metrics HTTP/1.1')}`,
  `GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\nContent-Length: 5\r\n\r\nGET /${ask('GET /status HTTP/1.1')}`,
]

test('without the token every kind of request gets only the health', async () => {
  const place = await workplace({ days: 3 }, { server: { port: 0, token } })
  const child = place.start(['run'])
  const [, port = ''] = await child.waitForLine(/"address":"http:\/\/127\.0\.0\.1:(\d+)"/)
  const right = await exchange(
    Number(port),
    ask('GET /metrics HTTP/1.1', `Authorization: Bearer ${token}\r\n`),
  )
  expect(right).toContain('shieldlog_build_info')
  const answers = await Promise.all(strangers.map((text) => exchange(Number(port), text)))
  for (const [index, answer] of answers.entries()) {
    const asked = JSON.stringify(strangers[index])
    // The page that asks for the token holds no data.
    expect(answer, asked).not.toMatch(/^shieldlog_|"routes"|"deadLetters"/m)
    const isPage = /^content-type: text\/html/m.test(answer)
    const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status)
    const refusals = asked.startsWith('"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
      ? statuses.slice(1)
      : statuses
    expect(
      refusals.every((status) => (isPage ? ['200'] : ['400', '401', '404', '405']).includes(status ?? '')),
      `${asked}: ${answer}`,
    ).toBe(true)
  }
  expect(await exchange(Number(port), ask('GET /healthz HTTP/1.1'))).toMatch(/^HTTP\/1\.1 200/)

  // Bound to this host alone: the kernel knows of no other address.
  if (process.platform === 'linux') {
    const hexPort = Number(port).toString(16).toUpperCase().padStart(4, '0')
    const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFileSync(path, 'utf8')).join('\n')
    const listening = [...tables.matchAll(/^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ 0A /gm)]
    expect(listening.filter(([, , at]) => at === hexPort).map(([, address]) => address)).toEqual(['0100007F'])
  }
  expect((await child.kill('SIGTERM'))?.code).toBe(0)
  expect(child.stderr()).not.toContain(token)
})
