import { expect, test } from 'vitest'
import { accessKey, openWorkshopWithApi } from './workshop.ts'

const parsed = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test('run --once through pipes writes JSON lines to stderr, and only events to stdout', async () => {
  const { configure, run, simulator } = await openWorkshopWithApi({ days: 5 })
  configure({
    api: { baseUrl: simulator.url, accessKey },
    zones: [101, 999],
    sinks: [{ name: 'out', type: 'stdout' }],
    log: { level: 'info' },
  })
  const { code, stdout, stderr } = await run('run', '--once')
  expect(code).toBe(1)
  for (const event of parsed(stdout)) expect(event).toMatchObject({ v: 1, id: expect.any(String) as string })
  const told = parsed(stderr)
  for (const line of told) expect(line).toMatchObject({ event: expect.any(String) as string })
  expect(told.at(-1)).toMatchObject({ event: 'Stopped' })
  const progress = told.flatMap(({ event, msg }) => (event === 'Progress' ? [msg] : []))
  expect(progress).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^not read to the end: zone 999 /),
      expect.stringMatching(/^shipped \d+ events to out; read /),
    ]),
  )
})

test('run --once --quiet prints nothing where all is well, and what is not otherwise', async () => {
  const { configure, run, simulator } = await openWorkshopWithApi({ days: 5 })
  const settings = {
    api: { baseUrl: simulator.url, accessKey },
    zones: [101],
    sinks: [{ name: 'archive', type: 'file', path: 'events' }],
    log: { level: 'info' },
  }
  configure(settings)
  expect(await run('run', '--once', '--quiet')).toEqual({ code: 0, stdout: '', stderr: '' })
  configure({ ...settings, zones: [101, 999] })
  const { code, stderr } = await run('run', '--once', '--quiet')
  expect(code).toBe(1)
  expect(parsed(stderr)).toContainEqual(
    expect.objectContaining({ msg: expect.stringMatching(/^not read to the end: zone 999 /) as string }),
  )
  expect(await run('run', '--quiet')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--quiet goes with --once') as string,
  })
})

test('run tells why it cannot start in the form of the log, as an event, before it says that it stopped', async () => {
  const { configure, run, simulator } = await openWorkshopWithApi({ days: 5 })
  const port = Number(new URL(simulator.url).port)
  const settings = {
    api: { baseUrl: simulator.url, accessKey },
    zones: [101],
    log: { level: 'info' },
    sinks: [{ name: 'archive', type: 'file', path: 'events' }],
  }
  for (const [cannot, code, text] of [
    [
      { state: 'sqlite:/dev/null/shieldlog.db' },
      'store_refuses',
      /\/dev\/null.* set `state` to another path/,
    ],
    [
      { server: { port } },
      'network',
      /the port is in use by another process; set server\.port to a free one/,
    ],
  ] as const) {
    configure({ ...settings, ...cannot })
    const ended = await run('run')
    expect(ended.code).toBe(1)
    const told = parsed(ended.stderr)
    const reason = { event: 'RunFailed', level: 'error', code, msg: expect.stringMatching(text) as string }
    expect(told.slice(-2)).toMatchObject([reason, { event: 'Stopped' }])
    // A person who wants no log is told all the same.
    configure({ ...settings, ...cannot, log: { level: 'silent' } })
    expect((await run('run')).stderr).toMatch(text)
  }
})
