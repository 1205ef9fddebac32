import { readdirSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Tls } from '../../src/config/fields/tls.ts'
import type { SinkConfig } from '../../src/config/schema.ts'
import { createNativeFormat } from '../../src/formats/native.ts'
import type { AnySink } from '../../src/ports/delivery.ts'
import { createSink, type SinkDeps, sinks } from '../../src/sinks/registry.ts'
import { keepInternalEvents } from './internal-events.ts'

/** What the configuration gives is what the sinks take: a mismatch fails the type check. */
export const make = (config: SinkConfig, deps: SinkDeps): AnySink => createSink(config, deps)

it('has every folder of a sink', () => {
  const folders = readdirSync(new URL('../../src/sinks', import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  expect(Object.keys(sinks).toSorted()).toEqual(folders.toSorted())
})

it('creates the sink of the options', async () => {
  const deps = {
    format: createNativeFormat(),
    clock: systemClock,
    telemetry: keepInternalEvents().telemetry,
    version: '1.2.3',
    output: new PassThrough(),
  }
  const http = createSink(
    {
      type: 'http',
      name: 'siem',
      preset: 'ndjson',
      format: 'native',
      url: 'https://siem.example/in?code=1',
      headers: {},
      tls: new Tls(),
      compression: 'gzip',
      timeoutSeconds: 30,
      batch: { maxEvents: 1000, maxBytes: 1_000_000 },
    },
    deps,
  )
  const stdout = createSink({ type: 'stdout', name: 'out' }, deps)
  expect([http.name, http.address, stdout.name, stdout.address]).toEqual([
    'siem',
    'https://siem.example',
    'out',
    'stdout',
  ])
  await Promise.all([http.close(), stdout.close()])
})
