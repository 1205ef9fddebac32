import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WireEntry } from '../../src/simulator/simulator.ts'
import { probeOf } from '../e2e/metrics.ts'
import { partsBelow } from '../e2e/shipped.ts'
import { readableDays, workplace, type Ended } from '../e2e/workplace.ts'
import { waitFor } from '../setup/wait-for.ts'
import { parseExposition } from '../telemetry/metrics/exposition.ts'
import { echo } from './echo.ts'
import * as faults from '../simulator/faults.ts'

/** Ends lines, forges a log line, a header and a label, moves and renames a terminal, reverses and hides text. */
const hostile =
  'a\n{"level":"info","event":"Forged"}\r\nX-Forged: 1\r\n\r\n"} 1\nforged{a="\u001b[2J\u001b]0;owned\u0007' +
  '\u009b31m\u0085\u2028\u2029\0\ud800\u202ex\u200b\u{e0041}\\u001b\\'
/** Everything that may end a line or act on a terminal, but the line feed that ends ours. */
const acting = /[^\P{C}\n]|[\u2028\u2029]/u
/** What any reader takes for the end of a line. */
const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/

const [day, , today] = readableDays()

function hostileEntries(): WireEntry[] {
  const keys = `{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x","a":${JSON.stringify(hostile)}}`
  const log = JSON.stringify({
    Message: hostile,
    Url: `https://shop.example/${hostile}`,
    RemoteIp: hostile,
    RequestId: hostile,
    [hostile]: hostile,
    Headers: [{ Name: hostile, Value: hostile }, ...JSON.parse(`[${keys}]`)],
  })
  const own = { country: hostile, status: hostile, ruleId: hostile, [hostile]: hostile }
  const labels = { ...(JSON.parse(keys) as Record<string, unknown>), ...own }
  Object.defineProperty(labels, '__proto__', { value: hostile, enumerable: true })
  const at = Date.parse(`${day}T10:00:00Z`)
  return [log, hostile, JSON.parse(keys), null].map(
    (form, index) =>
      ({ logId: `${index}${hostile}`, timestamp: at + index, log: form, labels }) as unknown as WireEntry,
  )
}

function expectInert(name: string, text: string): void {
  expect(text.length, name).toBeGreaterThan(0)
  const at = text.search(acting)
  expect(at === -1 ? '' : JSON.stringify(text.slice(Math.max(0, at - 60), at + 20)), name).toBe('')
  expect(text, name).not.toMatch(/^(?:\{"level":"info","event":"Forged"|X-Forged|forged\{)/m)
}

test('received text is escaped in files, logs, metrics, answers and on a terminal', async () => {
  const place = await workplace({ days: 2, zones: [101, 102, 103] })
  const { simulator } = place
  simulator.append(101, day, hostileEntries())
  const error = { errorKey: hostile, message: hostile }
  const saying = { title: hostile, detail: hostile, ...error, error }
  simulator.fail({
    match: { zone: 102 },
    times: Infinity,
    fault: faults.errorKey(error),
  })
  simulator.fail({
    match: { zone: 103 },
    times: Infinity,
    fault: faults.status({ status: 400, body: JSON.stringify(saying) }),
  })
  const refusing = await echo((text) => (text.includes('Forged') ? 400 : 200), { said: hostile })
  const broken = await echo(() => 403, { said: hostile })
  place.configure({
    zones: [101, 102, 103],
    log: { level: 'trace', format: 'json' },
    sinks: [
      { name: 'native', type: 'file', path: join(place.folder, 'native') },
      { name: 'raw', type: 'file', format: 'raw', path: join(place.folder, 'raw') },
      { name: 'refusing', type: 'http', preset: 'ndjson', url: refusing.url },
      { name: 'broken', type: 'http', preset: 'ndjson', url: broken.url },
    ],
  })
  const child = place.start(['run'])
  const probe = await probeOf(child)
  const linesOf = (sink: string) =>
    partsBelow(join(place.folder, sink))
      .map((part) => readFileSync(join(place.folder, sink, part), 'utf8'))
      .join('')
  const isDone = async () => {
    const { text } = await probe.get('/status')
    const areWritten = ['native', 'raw'].every((sink) => linesOf(sink).split(lineEnd).length > 3 * 2 + 4)
    const failing = ['102', '103'].every((zone) => new RegExp(`"zone":${zone},[^[]*"lastError"`).test(text))
    return (
      areWritten &&
      failing &&
      /"sink":"broken"[^[]*"lastError"/.test(text) &&
      (await probe.total('dead_letters')) === 4
    )
  }
  await waitFor(isDone, { what: () => child.stderr().slice(-1500) })

  for (const sink of ['native', 'raw']) {
    const text = linesOf(sink)
    const lines = text.split(lineEnd)
    expect(lines.pop()).toBe('')
    expect(lines).toHaveLength(3 * 2 + 4)
    const events = lines.map((line) => JSON.parse(line) as { labels: Record<string, unknown> })
    const own = events.filter(({ labels }) => Object.hasOwn(labels, '__proto__'))
    expect(own.map(({ labels }) => Object.hasOwn(labels, 'constructor'))).toEqual([true, true, true, true])
    expect(text).not.toContain('\ud800')
  }
  for (const path of ['/status', '/readyz', '/healthz', '/metrics'])
    expectInert(path, (await probe.get(path)).text)
  const exposed = (await probe.get('/metrics')).text
  const labels = [...parseExposition(exposed).values()].flatMap(({ samples }) =>
    samples.flatMap((sample) => Object.values(sample.labels)),
  )
  expect(labels.filter((label) => !/^[\w.:+-]*$/.test(label))).toEqual([])

  // As on a terminal: nothing tells whoever prints that it is none.
  const onTerminal = {
    NODE_OPTIONS: '--import=data:text/javascript,process.stdout.isTTY=true',
    NO_COLOR: '1',
  }
  const commands: readonly (readonly [codes: readonly number[], command: string])[] = [
    ...['status', 'status --verbose', 'status --json'].map((each) => [[0, 1], each] as const),
    ...['dead-letters list', 'dead-letters list --json'].map((each) => [[0], each] as const),
    ...['', ' --format raw'].map((form) => [[0], `fetch --zone 101 --day ${day}${form}`] as const),
    ...[102, 103].map((zone) => [[1], `fetch --zone ${zone} --day ${day}`] as const),
    ...['', ' --json'].map((form) => [[0, 1], `audit --zone 101 --day ${day}${form}`] as const),
    [[1], 'check'],
  ]
  const ended = new Map<string, Ended>()
  for (let at = 0; at < commands.length; at += 4)
    await Promise.all(
      commands.slice(at, at + 4).map(async ([codes, command]) => {
        const result = await place.ended(command.split(' '), { env: onTerminal })
        expect(codes, `${command}: ${result.stderr}`).toContain(result.code)
        ended.set(command, result)
      }),
    )
  expect((await child.kill('SIGTERM'))?.code).toBe(0)
  for (const [name, { stdout, stderr }] of ended) expectInert(name, stdout + stderr)
  const fetched = ended.get(`fetch --zone 101 --day ${day}`)?.stdout.trimEnd().split('\n') ?? []
  expect(fetched.map((line) => (JSON.parse(line) as { id: string }).id)).toContain(
    `0${hostile.replace('\ud800', '\ufffd')}`,
  )

  expectInert('the log', child.stderr())
  for (const line of child.stderr().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('level')
  // And once more for people.
  place.configure({
    zones: [101, 102],
    log: { level: 'trace', format: 'pretty' },
    state: `sqlite:${place.folder}/other.db`,
    sinks: [
      { name: 'out', type: 'stdout' },
      { name: 'broken', type: 'http', preset: 'ndjson', url: broken.url },
    ],
  })
  const pretty = await place.ended(['run', '--once'], { env: onTerminal })
  expectInert('the log for people', pretty.stderr)
  expectInert('events for people', pretty.stdout)
  expect(pretty.stdout).toContain(today)
})
