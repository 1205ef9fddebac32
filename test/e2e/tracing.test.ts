import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import { pathTo, recording, spansIn } from '../telemetry/recorded-spans.ts'
import type { RecordedSpan } from '../telemetry/span-recorder.ts'
import { accessKey, workplace } from './workplace.ts'

const own = ['zone', 'day', 'sink', 'priority', 'events', 'unwanted_ms', 'outcome']
const told = [...own.map((name) => `shieldlog.${name}`), 'error.type', 'server.address', 'server.port']

function expectWholeTraces(spans: readonly RecordedSpan[]): void {
  for (const name of ['fetch', 'deliver', 'commit']) {
    const some = spans.filter((span) => span.name === name)
    expect(some.length, name).toBeGreaterThan(0)
    for (const span of some) {
      const path = pathTo(span, spans)
      expect(path.map((each) => each.name)).toEqual(['tick', 'pump', name])
      expect(new Set(path.map(({ traceId }) => traceId)).size).toBe(1)
    }
  }
  for (const { name, attributes } of spans)
    expect(name === 'tick' ? [] : told).toEqual(expect.arrayContaining(Object.keys(attributes)))
  // Every tick that is told of has started something.
  for (const tick of spans.filter(({ name }) => name === 'tick'))
    expect(spans.some(({ parentId }) => parentId === tick.spanId)).toBe(true)
}

function deliveredIn(spans: readonly RecordedSpan[]): number {
  let total = 0
  for (const { name, attributes } of spans)
    if (name === 'deliver') total += Number(attributes['shieldlog.events'])
  return total
}

test('one trace goes from the tick to the commit', async () => {
  const file = join(temporaryFolder(), 'spans')
  const { start, events, simulator } = await workplace({ days: 120, pageSize: 50 }, { server: { port: 0 } })
  const child = start(['run'], { env: recording(file) })
  await waitFor(() => deliveredIn(spansIn(file)) >= 2 * 3 * 120, {
    what: () => child.stderr(),
  })
  expect((await child.kill('SIGTERM'))?.code).toBe(0)
  const spans = spansIn(file)
  // A pump that was stopped has an end too; one that never ended would be the parent of nothing that is recorded.
  expectWholeTraces(spans)
  const delivered = spans.filter(({ name }) => name === 'deliver')
  expect(deliveredIn(spans)).toBe(2 * 3 * 120)
  expect(delivered.every(({ attributes }) => attributes['shieldlog.outcome'] === 'ok')).toBe(true)
  const fetched = spans.filter(({ name }) => name === 'fetch')
  expect(new Set(fetched.map(({ attributes }) => attributes['server.address']))).toEqual(
    new Set(['127.0.0.1']),
  )
  const ahead = spans.filter(({ attributes }) => attributes['shieldlog.unwanted_ms'] !== undefined)
  expect(ahead.length).toBeGreaterThan(0)
  expect(new Set(ahead.map(({ name }) => name))).toEqual(new Set(['fetch']))
  const text = readFileSync(file, 'utf8')
  const tokens = simulator.requests.flatMap(({ token }) => (token === undefined ? [] : [token]))
  const ids = simulator
    .entries(101, String(delivered[0]?.attributes['shieldlog.day']))
    .map(({ logId }) => logId)
  expect(tokens.length).toBeGreaterThan(0)
  for (const secret of [accessKey, events, ...tokens, ...ids])
    expect(text.includes(secret), secret).toBe(false)
})
