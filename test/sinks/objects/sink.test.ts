import { describe, expect, it } from 'vitest'
import { Failure } from '../../../src/domain/failure.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'
import { unpackFingerprints } from '../../../src/domain/event/seen.ts'
import type { ObjectSettings } from '../../../src/sinks/objects/settings.ts'
import { createObjectSink } from '../../../src/sinks/objects/sink.ts'
import {
  buildEvent,
  contractFormat,
  idOf,
  never,
  sinkContract,
  StreamLedger,
  streamOf,
} from '../../contract/sink.contract.ts'
import { createMemoryStore } from './memory-store.ts'

const basics: ObjectSettings = {
  name: 'lake',
  prefix: 'waf/',
  file: 'ndjson',
  compress: 'gzip',
  maxBytes: 65_536,
  guarantee: 'exactly-once',
}

function createWorld(settings: Partial<ObjectSettings> = {}) {
  const memory = createMemoryStore()
  const told: string[] = []
  const telemetry = { emit: ({ name }: { readonly name: string }) => void told.push(name) }
  const of = (more: Partial<ObjectSettings> = {}) =>
    createObjectSink(
      {
        settings: { ...basics, ...settings, ...more },
        format: contractFormat,
        telemetry,
        store: memory.store,
      },
      async () => undefined,
    )
  const sink = of()
  return { ...memory, told, of, sink, ledger: new StreamLedger(streamOf(sink, 101)) }
}

for (const file of ['ndjson', 'parquet'] as const)
  sinkContract(`objects of ${file}`, { canFail: true, canHang: true }, async (gate) => {
    const { store, sink, script, lines } = createWorld({ file, compress: null })
    script.before = () => gate.pass()
    return {
      sink,
      received: async () => (await lines()).map(idOf),
      async fail() {
        const create = store.create
        store.create = () => Promise.reject(new Failure('retry', 'server_error', 'status 503'))
        return () => (store.create = create)
      },
      dispose: async () => undefined,
    }
  })

function numbered(from: number, to: number): Event[] {
  return Array.from({ length: to - from }, (_, index) => {
    const id = `e${from + index}`
    const timeMs = Date.UTC(2025, 10, 20, 12, from + index)
    const time = new Date(timeMs).toISOString()
    return buildEvent(id, { time, timeMs, fingerprint: fingerprintOf({ id, time }) })
  })
}

const unanswered = async () => false

describe('an object', () => {
  it('has a number of at least six digits, a type that says its content, and its name says the compression', async () => {
    for (const [file, compress, suffix, type] of [
      ['ndjson', null, 'ndjson.gz', 'application/x-ndjson'],
      ['ndjson', 'zstd', 'ndjson.zst', 'application/x-ndjson'],
      ['parquet', null, 'parquet', 'application/vnd.apache.parquet'],
    ] as const) {
      const { sink, ledger, keys, lines, objects } = createWorld({ file, compress })
      await ledger.ship(sink, numbered(0, 2))
      await ledger.ship(sink, numbered(2, 3))
      const folder = 'waf/shield_zone=101/day=2025-11-20/store-1'
      expect(keys()).toEqual([`${folder}-000001.${suffix}`, `${folder}-000002.${suffix}`])
      expect(objects.get(keys()[0]!)!.contentType).toBe(type)
      expect((await lines()).map(idOf)).toEqual(['e0', 'e1', 'e2'])
    }
  })

  it('holds no more than maxBytes, but at least one event; the rest of a delivery is for the next one', async () => {
    const { sink, ledger, lines } = createWorld()
    const big = (id: string, length: number) => buildEvent(id, { log: { text: 'x'.repeat(length) } })
    const opened = await ledger.open(sink)
    const some = [big('a', 40_000), big('b', 40_000), big('c', 1)]
    expect(await opened.deliver(some, never())).toMatchObject({ partial: { taken: [{ id: 'a' }] } })
    ledger.objects = 1
    expect(await opened.deliver([big('d', 200_000), ...some.slice(1)], never())).toMatchObject({
      partial: { taken: [{ id: 'd' }] },
    })
    expect((await lines()).map(idOf)).toEqual(['a', 'd'])
  })

  it('is not written where every event is refused', async () => {
    const { sink, ledger, keys } = createWorld()
    const opened = await ledger.open(sink)
    const delivery = await opened.deliver([buildEvent('bad', { action: 'unmappable' })], never())
    expect(delivery).toMatchObject({ refusals: [{ reason: 'unmappable' }], bytes: 0 })
    expect(delivery.object).toBeUndefined()
    expect(keys()).toEqual([])
  })

  it('is not written once the store has lost the fence or a commit', async () => {
    const { sink, ledger, keys } = createWorld()
    ledger.confirm = () => Promise.reject(new Failure('cancelled', 'fence_lost', 'taken over'))
    await expect(ledger.ship(sink, numbered(0, 1))).rejects.toMatchObject({ code: 'fence_lost' })
    expect(keys()).toEqual([])
  })
})

describe('a number that is taken', () => {
  it('is this very object where its answer was lost', async () => {
    const { sink, ledger, script, lines, told } = createWorld()
    script.after = unanswered
    const opened = await ledger.open(sink)
    const delivery = await opened.deliver(numbered(0, 2), never())
    expect(delivery).toMatchObject({ object: { number: 1 }, refusals: [] })
    expect(delivery.partial).toBeUndefined()
    expect(delivery.object!.adopted).toBeUndefined()
    expect(told).toEqual(['ObjectWritten'])
    expect(await lines()).toHaveLength(2)
  })

  it('is adopted with what its companion says that it holds, whatever this delivery has', async () => {
    const { of, ledger, lines, told } = createWorld()
    await (await ledger.open(of())).deliver(numbered(0, 3), never())
    const opened = await ledger.open(of({ compress: 'gzip' }))
    const delivery = await opened.deliver(numbered(2, 5), never())
    expect(delivery).toMatchObject({ partial: { taken: [] }, refusals: [], object: { number: 1 } })
    const adopted = [...delivery.object!.adopted!].flatMap(([, bytes]) => unpackFingerprints(bytes))
    expect(adopted).toEqual(numbered(0, 3).map(({ fingerprint }) => fingerprint))
    expect([...delivery.object!.adopted!.keys()]).toEqual(
      numbered(0, 3).map(({ timeMs }) => Math.floor(timeMs! / 60_000)),
    )
    expect(told).toEqual(['ObjectWritten', 'ObjectAdopted'])
    expect(await lines()).toHaveLength(3)
  })

  it('tells that the state is older than the store where two in a row are adopted, and not where one is twice', async () => {
    const { sink, ledger, told } = createWorld()
    for (const from of [0, 1]) {
      await (await ledger.open(sink)).deliver(numbered(from, from + 1), never())
      ledger.objects++
    }
    told.length = 0
    const opened = await ledger.open(sink)
    for (ledger.objects of [0, 0, 1, 2]) await opened.deliver(numbered(5, 6), never())
    expect(told).toEqual(['ObjectAdopted', 'ObjectAdopted', 'ObjectAdopted', 'StateBehind', 'ObjectWritten'])
  })

  it('is looked at before the first body of a pump is sent, and after an object that was adopted', async () => {
    const { sink, ledger, requests } = createWorld()
    for (const from of [0, 1]) {
      await (await ledger.open(sink)).deliver(numbered(from, from + 1), never())
      ledger.objects++
    }
    ledger.objects = 0
    const opened = await ledger.open(sink)
    for (ledger.objects of [0, 1, 2]) {
      requests.length = 0
      await opened.deliver(numbered(5, 6), never())
      const sent = requests.filter((request) => /put .*ndjson/.test(request))
      expect(sent).toHaveLength(ledger.objects === 2 ? 1 : 0)
    }
  })

  it('is taken whatever compress says since: the day keeps the form of its first try, also of a late one', async () => {
    const { of, store, ledger, keys, lines } = createWorld()
    const { create } = store
    const late: (() => Promise<unknown>)[] = []
    store.create = async (...given) => {
      if (given[0].includes('_shieldlog')) return await create(...given)
      late.push(() => create(...given))
      throw new Failure('retry', 'server_error', 'status 503')
    }
    await expect(ledger.ship(of({ compress: 'zstd' }), numbered(0, 1))).rejects.toThrow('503')
    store.create = create
    await ledger.ship(of({ compress: 'gzip' }), numbered(0, 2))
    for (const write of late) await write()
    expect(keys()).toEqual(['waf/shield_zone=101/day=2025-11-20/store-1-000001.ndjson.zst'])
    expect((await lines()).map(idOf)).toEqual(['e0', 'e1'])
  })

  it.each([
    [{ file: 'parquet', compress: null }, { file: 'ndjson', compress: 'zstd' }, 'parquet'],
    [{ file: 'ndjson', compress: 'zstd' }, { file: 'parquet', compress: null }, 'ndjson.zst'],
  ] as const)('keeps the form of its day from %j to %j', async (before, after, suffix) => {
    const { of, ledger, keys, lines } = createWorld()
    await (await ledger.open(of(before))).deliver(numbered(0, 1), never())
    await ledger.ship(of(after), numbered(0, 2))
    await ledger.ship(of(after), numbered(1, 3))
    expect(keys().map((key) => key.slice(key.indexOf('.')))).toEqual(
      [suffix, suffix].map((each) => `.${each}`),
    )
    expect((await lines()).map(idOf)).toEqual(['e0', 'e1', 'e2'])
  })

  it('is an error where its object is of another sink, or of nobody', async () => {
    const { of, ledger, keys, objects } = createWorld()
    await (await ledger.open(of({ name: 'other' }))).deliver(numbered(0, 1), never())
    const second = () => ledger.ship(of(), numbered(1, 2))
    await expect(second()).rejects.toMatchObject({ kind: 'stop', code: 'sink_refuses' })
    await expect(second()).rejects.toThrow('is of sink other: give sink lake another prefix')
    objects.set(keys()[0]!, { ...objects.get(keys()[0]!)!, metadata: {} })
    await expect(second()).rejects.toThrow('was not written by shieldlog')
  })

  it('is an error where the companion of its object is missing or damaged', async () => {
    const { of, ledger, objects } = createWorld()
    await (await ledger.open(of())).deliver(numbered(0, 1), never())
    const companion = [...objects.keys()].find((key) => /_shieldlog.*-000001-/.test(key))!
    const second = () => ledger.ship(of(), numbered(1, 2))
    objects.set(companion, { ...objects.get(companion)!, body: Buffer.from('not one') })
    await expect(second()).rejects.toThrow('is damaged')
    objects.delete(companion)
    await expect(second()).rejects.toThrow('is missing')
  })

  it('is not looked for where the form of its day cannot be read', async () => {
    const { sink, ledger, objects, keys } = createWorld()
    const of = 'waf/_shieldlog/shield_zone=101/day=2025-11-20/store-1-form'
    objects.set(of, { body: Buffer.from('lzma'), contentType: '', metadata: {} })
    await expect(ledger.ship(sink, numbered(0, 1))).rejects.toThrow(
      `object ${of} in memory/ is damaged: write gzip or zstd or parquet into it, as the names of these objects say`,
    )
    expect(keys()).toEqual([])
  })
})

describe('a request without an answer', () => {
  it('is sent again where nothing was written, a bounded number of times', async () => {
    const { store, sink, ledger, keys, requests } = createWorld()
    const create = store.create
    let left = 2
    store.create = (key, ...rest) =>
      !key.includes('_shieldlog') && left-- > 0 ? Promise.resolve('unknown') : create(key, ...rest)
    await ledger.ship(sink, numbered(0, 1))
    expect(keys()).toHaveLength(1)
    left = Infinity
    await expect(ledger.ship(sink, numbered(1, 2))).rejects.toMatchObject({ kind: 'retry', code: 'network' })
    expect(requests.length).toBeLessThan(20)
  })

  it('may be one for the companion, which is there before its object is sent', async () => {
    const { sink, ledger, script, requests } = createWorld()
    script.after = async (key) => !key.includes('_shieldlog')
    await ledger.ship(sink, numbered(0, 1))
    expect(requests.slice(-3).map((request) => request.replace(/\S*_shieldlog\/\S*/, 'companion'))).toEqual([
      'put companion',
      'head companion',
      'put waf/shield_zone=101/day=2025-11-20/store-1-000001.ndjson.gz',
    ])
  })
})

it('a test event of a person is no data', async () => {
  const { sink, ledger, objects, keys } = createWorld()
  const opened = await sink.open(ledger.stream, {}, never())
  expect(await opened.deliver(numbered(0, 1), never())).toMatchObject({ refusals: [] })
  expect([...objects.keys()]).toEqual([
    expect.stringMatching(/^waf\/_shieldlog\/try\/[\da-f]{64}\.ndjson\.gz$/),
  ])
  expect(keys()).toEqual([])
})

it('with at-least-once, gives each object a key that names its content, so that none is overwritten', async () => {
  const { of, ledger, keys, lines } = createWorld({ guarantee: 'at-least-once' })
  await (await ledger.open(of())).deliver(numbered(0, 2), never())
  await (await ledger.open(of())).deliver(numbered(0, 3), never())
  await (await ledger.open(of())).deliver(numbered(0, 3), never())
  expect(keys()).toHaveLength(2)
  expect(new Set((await lines()).map(idOf)).size).toBe(3)
})

it('with at-least-once, sends no key twice: of a body that may be there, it looks first', async () => {
  const { of, ledger, script, requests } = createWorld({ guarantee: 'at-least-once' })
  const puts = () => requests.filter((each) => each.startsWith('put')).length
  // An earlier pump has written, and ended before its commit.
  await (await ledger.open(of())).deliver(numbered(0, 1), never())
  const opened = await ledger.open(of())
  await opened.deliver(numbered(0, 1), never())
  expect(puts()).toBe(1)
  // Its own try has written, and failed.
  ledger.objects = 1
  script.after = () => Promise.reject(new Failure('retry', 'timeout', 'no answer'))
  await expect(opened.deliver(numbered(1, 2), never())).rejects.toMatchObject({ code: 'timeout' })
  script.after = async () => true
  requests.length = 0
  await opened.deliver(numbered(1, 2), never())
  ledger.objects = 2
  await opened.deliver(numbered(2, 3), never())
  expect(requests.map((each) => each.split(' ')[0])).toEqual(['head', 'put'])
  // A person's trial.
  const trial = await of().open(ledger.stream, {}, never())
  for (let turn = 0; turn < 2; turn++) await trial.deliver(numbered(0, 1), never())
  expect(puts()).toBe(2)
})
