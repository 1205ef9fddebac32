import { expect, test } from 'vitest'
import { SinkHolds } from '../../src/assemble/held-sinks.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { load } from '../config/loading.ts'
import { createFakeClock, type FakeClock } from '../fakes/fake-clock.ts'

const sinkNamed = (name: string) =>
  load({
    yaml: `api: { accessKey: k }\nzones: [1]\nsinks: [{ name: ${name}, type: syslog, host: siem.example, port: 6514 }]\n`,
  }).config

async function openStore(clock: FakeClock) {
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1_000 })
  return store
}

test('of two processes that decide at the same time about a sink that may be a renamed one, both hold it', async () => {
  const clock = createFakeClock()
  const store = await openStore(clock)
  const deps = { clock, telemetry: { emit: () => undefined } }
  await new SinkHolds(sinkNamed('siem'), store, deps).refresh()
  const both = [1, 2].map(() => new SinkHolds(sinkNamed('splunk'), store, deps))
  for (let round = 0; round < 3; round++) {
    await Promise.all(both.map((holds) => holds.refresh()))
    expect(both.map(({ held }) => [...held.keys()])).toEqual([['splunk'], ['splunk']])
    await clock.advance(5_000)
  }
  expect((await store.catalogue.sinks()).map(({ name }) => name)).toEqual(['siem'])
})

test('a held sink is looked at every few seconds, whatever asks, and told once', async () => {
  const clock = createFakeClock()
  const store = await openStore(clock)
  const told: string[] = []
  const emit = (event: InternalEvent) => void told.push(event.name)
  let reads = 0
  const counting = {
    ...store,
    catalogue: {
      ...store.catalogue,
      sinks: () => {
        reads++
        return store.catalogue.sinks()
      },
    },
  }
  await new SinkHolds(sinkNamed('siem'), store, { clock, telemetry: { emit } }).refresh()
  const holds = new SinkHolds(sinkNamed('splunk'), counting, { clock, telemetry: { emit } })
  await Promise.all([holds.refresh(), holds.refresh(), holds.refresh()])
  expect([...holds.held.keys()]).toEqual(['splunk'])
  expect(told).toEqual(['SinkHeld'])
  const first = reads
  for (let second = 0; second < 4; second++) {
    await clock.advance(1_000)
    await holds.refresh()
  }
  expect(reads).toBe(first)
  await store.catalogue.rememberSinks([{ name: 'splunk', type: 'syslog', place: 'siem.example:6514' }])
  await clock.advance(1_000)
  await holds.refresh()
  expect(reads).toBeGreaterThan(first)
  expect(holds.held.size).toBe(0)
  expect(told).toEqual(['SinkHeld', 'SinkReleased'])
})
