import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { SinkConfig } from '../../src/config/schema.ts'
import { createNativeFormat } from '../../src/formats/native.ts'
import type { AnySink } from '../../src/ports/delivery.ts'
import type { SinkDeps } from '../../src/sinks/deps.ts'
import { createSink } from '../../src/sinks/registry.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { buildEvents, never, StreamLedger, streamOf } from './file/samples.ts'
import { keepInternalEvents, named } from './internal-events.ts'

/** What the configuration gives is what the sinks take: a mismatch fails the type check. */
export const make = (config: SinkConfig, deps: SinkDeps): AnySink => createSink(config, deps)

function depsOf(output: Writable = new PassThrough()) {
  const { telemetry, internalEvents } = keepInternalEvents()
  const format = createNativeFormat()
  const deps = { format, clock: systemClock, telemetry, version: '1.2.3', output }
  return { deps, answers: () => named(internalEvents, 'SinkAnswered') }
}

function fileSink(path: string) {
  const { deps, answers } = depsOf()
  const rotate = { maxBytes: 1_000_000, maxAgeMinutes: 60 }
  const retention = { days: null, maxBytes: null }
  const settings = { name: 'archive', path, mode: 0o600, dirMode: 0o700, rotate, compress: 'none' } as const
  return { sink: createSink({ type: 'file', retention, ...settings }, deps), answers }
}

async function shipTo(sink: AnySink, count: number): Promise<number> {
  const open = await new StreamLedger(streamOf(sink, 101)).open(sink)
  const { bytes } = await open.deliver(buildEvents(count), never())
  await open.close()
  await sink.close()
  return bytes
}

describe('metrics of a sink that writes', () => {
  it('count each delivery into files, with its bytes and its time', async () => {
    const { sink, answers } = fileSink(temporaryFolder())
    const bytes = await shipTo(sink, 3)
    expect(answers()).toMatchObject([{ sink: 'archive', outcome: 'ok', bytes }])
    expect(answers()[0]!.seconds).toBeGreaterThan(0)
  })

  it('count each failed try, so that an alert on failing sinks fires for files', async () => {
    const file = join(temporaryFolder(), 'events')
    writeFileSync(file, 'no folder')
    const { sink, answers } = fileSink(file)
    await expect(shipTo(sink, 3)).rejects.toMatchObject({ code: 'unwritable' })
    expect(answers()).toMatchObject([{ sink: 'archive', outcome: 'rejected', bytes: 0 }])
  })

  it('count no failure of the sink if the store failed, the fence was lost, or a stop was requested', async () => {
    const { sink, answers } = fileSink(temporaryFolder())
    const open = await new StreamLedger(streamOf(sink, 101)).open(sink)
    await expect(open.deliver(buildEvents(1), AbortSignal.abort())).rejects.toMatchObject({
      kind: 'cancelled',
    })
    await sink.close()
    expect(answers()).toEqual([])
  })

  it('count a reader of stdout that closed the pipe', async () => {
    const gone = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('EPIPE'), { code: 'EPIPE' })),
    })
    const { deps, answers } = depsOf(gone)
    const sink = createSink({ type: 'stdout', name: 'out' }, deps)
    await expect(shipTo(sink, 2)).rejects.toMatchObject({ code: 'sink_gone' })
    expect(answers()).toMatchObject([{ outcome: 'network', bytes: 0 }])
  })
})
