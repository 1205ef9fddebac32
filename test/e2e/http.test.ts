import { expect, test } from 'vitest'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { receiver, type Receiver } from './receiver.ts'
import { compare, keysOf, linesBelow } from './shipped.ts'
import { endOf, readableDays, workplace, zones, type Workplace } from './workplace.ts'

interface Shipped {
  readonly id: string
  readonly zone: { readonly id: number }
  readonly time: string
}

function keyOf(line: string): string {
  const { id, zone, time } = JSON.parse(line) as Shipped
  return `${zone.id}/${time.slice(0, 10)}/${id}`
}

async function httpPlace(siem: Receiver, perDay: number, more: object = {}): Promise<Workplace> {
  const place = await workplace({ days: perDay, pageSize: 100 })
  place.configure({
    sinks: [
      { name: 'siem', type: 'http', url: siem.url, compression: 'gzip', batch: { maxEvents: 40 }, ...more },
    ],
  })
  return place
}

/** What holds of every try, whatever became of it. */
function expectHonest({ got }: Receiver): void {
  expect(got.length).toBeGreaterThan(0)
  const bytesOf = new Map<string, string>()
  const bodyOf = new Map<string, string>()
  for (const { headers, text, lines } of got) {
    expect(headers['content-encoding']).toBe('gzip')
    const key = String(headers['idempotency-key'])
    expect(bodyOf.get(key) ?? text).toBe(text)
    bodyOf.set(key, text)
    for (const line of lines) {
      const event = keyOf(line)
      expect(bytesOf.get(event) ?? line).toBe(line)
      bytesOf.set(event, line)
    }
  }
  expect(bodyOf.size).toBeGreaterThan(1)
}

function compareTaken({ taken }: Receiver, { simulator }: Workplace) {
  return compare(taken.map(keyOf), keysOf(simulator, zones, readableDays()))
}

test('what a killed process had sent is sent again with the same id and bytes', async () => {
  const siem = await receiver()
  const place = await httpPlace(siem, 200)
  for (const moment of ['before:commit:1', 'before:deliver:5', 'after:deliver:3', 'before:transaction:9']) {
    const ended = await endOf(place.entry(['--once', '--kill', moment]))
    expect(ended.signal, ended.stderr).toBe('SIGKILL')
  }
  const ended = await place.once()
  expect(ended.code, ended.stderr).toBe(0)
  const comparison = compareTaken(siem, place)
  expect(comparison).toMatchObject({ missing: 0, strange: 0 })
  // Else no kill came between a delivery and its commit, and nothing was tried here.
  expect(comparison.repeated).toBeGreaterThan(0)
  expectHonest(siem)
})

test('a receiver that hangs does not delay other sinks, however many streams wait for it', async () => {
  const siem = await receiver()
  siem.answer(() => 'hang')
  const many = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  const place = await workplace({ zones: many, days: 30, live: { ratePerSecond: 1 } }, { zones: many })
  const archive = { name: 'archive', type: 'file', path: place.events }
  // Longer than this test waits: no place that it holds becomes free by itself.
  const hanging = { name: 'siem', type: 'http', url: siem.url, timeoutSeconds: 120 }
  place.configure({ sinks: [archive, hanging], server: { port: 0 }, workers: { streams: 4 } })
  const child = place.start(['run'])
  await waitFor(() => linesBelow(place.events).length > many.length * 3 * 30 + 50, {
    what: () => `live lines: ${linesBelow(place.events).length}, ${child.stderr()}`,
  })
  expect(siem.got.length).toBeGreaterThan(0)
  place.simulator.set({ live: { ratePerSecond: 0 } })
  await caughtUp(place, child, { of: many })
  expect(siem.taken).toEqual([])
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
})
