import { writeFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Status } from '../../src/status/fleet.ts'
import type { WireEntry } from '../../src/simulator/simulator.ts'
import { readableDays, workplace, type Settings } from '../e2e/workplace.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { waitFor } from '../setup/wait-for.ts'
import { otlpReceiver } from '../telemetry/otlp-receiver.ts'
import { tracedTo } from '../telemetry/real-sdk.ts'
import { pem } from '../setup/tls.ts'
import * as faults from '../simulator/faults.ts'
import { echo, type Echo } from './echo.ts'
import { randomBytes } from 'node:crypto'
const paths = ['/metrics', '/status', '/readyz', '/healthz']
const addressLine = /(http:\/\/127\.0\.0\.1:\d+)/

test('no secret of the configuration or of a request appears anywhere, whatever fails', async () => {
  const { canaries, place, env, token, configure, places, ask, run, expectNoLeak } = await leakWorld()
  const junk = canaries.make('junk', true)
  const child = place.start(['run'], { env })
  const [, address = ''] = await child.waitForLine(addressLine)
  await everythingFailed(address, token, child.stderr)
  await ask(address, [...paths, '/'])
  places.set('/status for nobody', await answerOf(address, '/status', canaries.make('wrong token', true)))
  const proxies = [`http://user:${junk}@[no-address`, `user:${junk}@proxy:3128`]
  await Promise.all([
    run([
      'status --json',
      'status',
      'dead-letters list --json',
      'config print',
      'check',
      'fetch --zone 101 --day today',
      'fetch --zone 101 --day today --format raw',
      'dead-letters show entry-3',
      'fetch --zone 102 --day today',
    ]),
    ...proxies.map((proxy, index) => run(['check'], { HTTP_PROXY: proxy }, ` with junk proxy ${index}`)),
  ])
  expect((await child.kill('SIGTERM'))?.code).toBe(0)
  places.set('stdout', child.stdout()).set('stderr', child.stderr())

  // What a person may write in the wrong place.
  configure({
    server: { port: '${JUNK}', token: [junk] },
    poll: { everySeconds: '${JUNK}' },
    api: { baseUrl: `http://user:${junk}@127.0.0.1`, accessKey: { key: junk } },
    state: `redis://user:${junk}@h/x`,
    log: { level: '${JUNK}' },
  })
  await run(['run'], { JUNK: junk })
  writeFileSync(place.configFile, `api: { accessKey: "${junk}\n sinks: [`)
  await run(['check'], {}, ' of junk that is no YAML')
  expectNoLeak()
  const names = [...places.keys()]
  for (const kind of ['state.db', '.ndjson']) expect(names.some((name) => name.endsWith(kind))).toBe(true)
  expect(canaries.leaks(new Map([['a proof', join('x', junk)]]))).toHaveLength(1)
})

const zone = 101
const events = 15
const refusedEntry = 'entry-3'
const redactedHeaders = ['cookie', 'set-cookie', 'authorization', 'proxy-authorization']
const failing = ['refusing', 'busy', 'away', 'secure', 'proxied']

/** A shipper whose every destination fails in another way and repeats all that it was sent. */
async function leakWorld() {
  const canaries = createCanaries()
  const { make } = canaries
  const key = make('access key')
  const keyInFile = make('refused key in a file')
  const bearer = make('bearer')
  const password = make('basic password')
  const header = make('header')
  const query = make('query', true)
  const path = make('path', true)
  const proxyPassword = make('proxy password', true)
  const token = make('token of the server', true)
  const forCollector = make('OTLP header', true)
  canaries.add('TLS key', pem('client.key').split('\n')[3] ?? '')

  const place = await workplace({ days: events, pageSize: 10, accessKey: key, zones: [zone, 102, 103] })
  const { simulator, folder } = place
  const collector = await otlpReceiver()
  // The API itself repeats the key that it was given.
  const repeating = JSON.stringify({
    title: `${key} may not`,
    detail: key,
    errorKey: key,
    message: `AccessKey: ${key}`,
  })
  const fault = faults.status({ status: 400, body: repeating })
  simulator.fail({ match: { zone: 103 }, times: Infinity, fault })
  simulator.append(zone, readableDays()[2], entriesWith(make))
  const bodies: string[] = []
  const taking = await echo((text) => (bodies.push(text), text.includes(refusedEntry) ? 400 : 200))
  const refusing = await echo(() => 401)
  const busy = await echo(() => 503)
  const secure = await echo(() => 200, { tls: true })
  const proxy = await echo(() => 407)
  writeFileSync(join(folder, 'access-key'), `${keyInFile}\n`)

  const tls = (name: string) => `${projectFolder}test/fixtures/tls/${name}`
  const basic = Buffer.from(`siem:${password}`).toString('base64')
  const http = (name: string, url: string, headers: Settings, more: Settings = {}) =>
    ({ name, type: 'http', preset: 'ndjson', url, headers, ...more }) satisfies Settings
  const authorized = { Authorization: `Bearer ${bearer}`, 'X-Key': header }
  const sinks = [
    { name: 'archive', type: 'file', path: place.events },
    { name: 'raw', type: 'file', format: 'raw', path: join(folder, 'raw') },
    http('taking', `${taking.url}/in?token=${query}`, { Authorization: `Basic ${basic}`, 'X-Key': header }),
    http('refusing', `${refusing.url}/in/${path}?token=${query}`, authorized),
    http('busy', `${busy.url}/in?token=${query}`, authorized),
    http('away', `http://127.0.0.1:1/in?token=${query}`, authorized),
    http('secure', `${secure.url}/in?token=${query}`, authorized, {
      tls: { certFile: tls('client.pem'), keyFile: tls('client.key') },
    }),
    http('proxied', `http://siem.invalid/in?token=${query}`, authorized),
  ]
  const configure = (changes: Settings) =>
    place.configure({
      api: { baseUrl: simulator.url },
      zones: undefined,
      accounts: [
        { name: 'right', accessKey: '${RIGHT_KEY}', zones: [zone, 103] },
        { name: 'wrong', accessKeyFile: './access-key', zones: [102] },
      ],
      server: { port: 0, token },
      log: { level: 'trace', format: 'json' },
      redact: { headers: [...redactedHeaders, 'x-own-key'], query: ['session'] },
      sinks,
      ...changes,
    })
  configure({})
  const all = (far: Echo) => far.heard.join('\n')
  /** Secrets that a destination must have got, with what it got. */
  const arrived = () => [
    [basic, all(taking)],
    [header, all(taking)],
    [query, all(taking)],
    [bearer, all(refusing)],
    [path, all(refusing)],
    [bearer, all(busy)],
    [Buffer.from(`shipper:${proxyPassword}`).toString('base64'), all(proxy)],
    [forCollector, collector.texts.filter((_, index) => index % 2 === 0).join('\n')],
  ]
  /** For every process: keys, a proxy with a password, traces. */
  const env: Readonly<Record<string, string>> = {
    ...(await tracedTo(collector.url)),
    RIGHT_KEY: key,
    HTTP_PROXY: `http://shipper:${proxyPassword}@127.0.0.1:${proxy.port}`,
    NO_PROXY: '127.0.0.1,localhost',
    OTEL_EXPORTER_OTLP_HEADERS: `x-otlp=${forCollector}`,
  }
  /** All that was written, printed and answered, by where. */
  const places = new Map<string, string | Buffer>()
  return {
    canaries,
    place,
    token,
    env,
    configure,
    places,
    async ask(from: string, paths: readonly string[]) {
      for (const path of paths) places.set(path, await answerOf(from, path, token))
    },
    /** Runs commands at the same time. */
    async run(commands: readonly string[], more: Readonly<Record<string, string>> = {}, name = '') {
      await Promise.all(
        commands.map(async (command) => {
          const { stdout, stderr } = await place.ended(command.split(' '), { env: { ...env, ...more } })
          expect(`${stdout}${stderr}`, command).not.toBe('')
          places.set(`${command}${name}`, `${stdout}\n${stderr}`)
        }),
      )
    },
    /** Nothing but the files that hold secrets by nature shows one, and the destinations have got theirs. */
    expectNoLeak() {
      for (const [index, text] of collector.texts.entries())
        if (index % 2 === 1) places.set(`spans ${index}`, text)
      for (const [path, bytes] of filesBelow(folder, ['access-key', 'shieldlog.yaml']))
        places.set(path, bytes)
      for (const [index, text] of bodies.entries()) places.set(`body ${index}`, text)
      expect([...places.keys()].some((name) => name.startsWith('spans'))).toBe(true)
      // It looked at the right things: what is no secret of a request is found.
      const all = [...places.values()].map(String)
      for (const known of ['entry-0', 'entry-1', 'entry-2', refusedEntry, '[redacted]', 'curl/8.5.0'])
        expect(all.filter((text) => text.includes(known)).length, known).toBeGreaterThan(1)
      for (const [secret, heard] of arrived()) expect(heard?.includes(secret!), secret).toBe(true)
      expect(canaries.leaks(places)).toEqual([])
    },
  }
}

/** Entries as the API has them of requests with secrets in every place; the last one is refused. */
function entriesWith(make: (name: string, plain?: boolean) => string): WireEntry[] {
  const secretOf = (name: string) => make(`${name} of a request`, true)
  const [cookie, bearer, query] = [secretOf('cookie'), secretOf('bearer'), secretOf('query')]
  const logOf = (path: string) => ({
    Message: 'SQL Injection',
    Url: `https://shop.example.com${path}?a=1&Session=${query}&b=2`,
    RemoteIp: '198.18.0.7',
    UrlEncodedBody: `user=admin&password=${secretOf('body')}`,
    Headers: [
      { Name: 'COOKIE', Value: `session=${cookie}; cart=1` },
      { Name: 'Authorization', Value: `Bearer ${bearer}` },
      { Name: 'proxy-authorization', Value: secretOf('proxy') },
      { Name: 'Set-Cookie', Value: `sid=${secretOf('Set-Cookie')}; Secure` },
      { Name: 'X-Own-Key', Value: secretOf('own header') },
      { Name: 'Referer', Value: `https://www.example.org/?session=${query}` },
      { Name: 'User-Agent', Value: 'curl/8.5.0' },
    ],
    // A rule tells what it matched: the secret once more.
    TriggerMatch: { Key: 'RX', Value: cookie },
  })
  const plain = [
    `GET /login?session=${query}&x=1 HTTP/1.1`,
    `Cookie: session=${secretOf('plain text')}`,
    `Authorization: Bearer ${bearer}`,
  ].join('\r\n')
  const labels = { status: 'Blocked', ruleId: '942100', severity: 'CRITICAL' }
  return [JSON.stringify(logOf('/text')), logOf('/object'), plain, JSON.stringify(logOf('/refused'))].map(
    (log, index) => ({ logId: `entry-${index}`, timestamp: Date.now() - index, log, labels }),
  )
}

/** Text of an answer with its headers. */
async function answerOf(address: string, path: string, token: string): Promise<string> {
  const answer = await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } })
  return `${answer.status} ${JSON.stringify([...answer.headers])}\n${await answer.text()}`
}

/** Waits until every destination was met, and what each said is told, kept or counted. */
async function everythingFailed(address: string, token: string, what: () => string): Promise<void> {
  const isTold = async () => {
    const text = await answerOf(address, '/status', token)
    const { routes, deadLetters } = JSON.parse(text.slice(text.indexOf('\n'))) as Status
    const met = routes.filter((route) => route.zone !== zone || failing.includes(route.sink))
    const isKept = deadLetters.some(({ sink, count }) => sink === 'taking' && count > 0)
    return isKept && met.length > failing.length && met.every(({ lastError }) => lastError !== undefined)
  }
  await waitFor(isTold, { what: () => what().slice(-1500), everyMs: 200 })
}

/** Secrets that no text may hold, each with a name that says which one leaked. */
function createCanaries() {
  const forms = new Map<string, string>()
  const add = (name: string, secret: string): string => {
    for (const form of formsOf(secret)) forms.set(form, name)
    return secret
  }
  return {
    /** A secret that was made elsewhere. */
    add,
    /** A new secret. `plain`: letters, digits and dashes only. Otherwise with characters that a URL or JSON escapes. */
    make(name: string, plain = false) {
      const more = plain ? '' : `/+"\\'&=%`
      return add(name, `canary-${name.replaceAll(' ', '-')}-${randomBytes(9).toString('hex')}${more}`)
    },
    /** Where which secret shows, in whatever form, with a piece of what stands around it. */
    leaks(places: ReadonlyMap<string, string | Buffer>) {
      const found: string[] = []
      for (const [place, content] of places) {
        // One character a byte, so that what is no text is searched too.
        const text = typeof content === 'string' ? content : content.toString('latin1')
        for (const [form, name] of forms) {
          const at = text.indexOf(form)
          if (at >= 0) found.push(`${name} in ${place}: …${text.slice(Math.max(0, at - 80), at + 100)}…`)
        }
      }
      return found
    },
  }
}

/** As it is, as JSON, URLs and base64 have it, and in UTF-16. */
function formsOf(secret: string): Set<string> {
  const bytes = Buffer.from(secret)
  // In the middle of other text, base64 shows it in one of three ways; the characters at its ends depend on what is there.
  const encoded = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    return text.slice(before === 0 ? 0 : 4, -2)
  })
  return new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    Buffer.from(secret, 'utf16le').toString('latin1'),
    ...encoded,
    ...encoded.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ])
}

/** Every file below a folder by its path, but for those whose name is given. */
function filesBelow(folder: string, without: readonly string[]): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || without.includes(entry.name)) continue
    const path = join(entry.parentPath, entry.name)
    files.set(path, readFileSync(path))
  }
  return files
}
