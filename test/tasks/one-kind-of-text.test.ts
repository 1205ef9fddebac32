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
