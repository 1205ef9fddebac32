import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { parquetMetadata } from 'hyparquet'
import { describe, expect, it, test } from 'vitest'
import { createFormat, tableFor } from '../../../src/formats/registry.ts'
import type { Table } from '../../../src/ports/delivery.ts'
import { draftOf } from '../../../src/sinks/objects/form.ts'
import { createParquet, readParquet } from '../../../src/sinks/objects/parquet.ts'
import { buildEvent, type EventParts } from '../../formats/events.ts'
import { lineTable } from '../file/samples.ts'
import { linesIn, writeParquet } from './parquet-file.ts'

const everything = { labels: true, log: true, raw: true }
const forms = (['native', 'ocsf'] as const).flatMap((format) => [
  createFormat({ format }),
  createFormat({ format, include: everything, set: { env: 'prod', constructor: 'x' } }),
])
const native = createFormat({ format: 'native' }).table!

function metadataOf(file: Buffer) {
  return parquetMetadata(Uint8Array.from(file).buffer)
}

const odd: EventParts[] = [
  {},
  { id: 'no uuid', labels: {}, log: { text: 'no object' } },
  { id: '\ufeffbyte order mark', request: { method: '\ufeffGET' }, log: { text: '\ufeff' } },
  {
    action: 'a\u0000b',
    request: { method: 'PURGE', url: '\ud800é漢😀' },
    other: { ja4: 't13', n: [1, null] },
  },
  { client: { address: '2001:db8::1', ip: '2001:db8::1', asn: 4_294_967_295 }, response: { status: 599 } },
  {
    log: { ServerZoneId: 'SG-1', Headers: 'text', __proto__: { a: 1 } },
    zone: { id: 2 ** 53 - 1, name: '' },
  },
  { time: '2025-11-20T12:00:00.123456789Z', log: { n: JSON.rawJSON('12345678901234567890') } },
  { request: { id: 'r', url: `https://shop.example/${'x'.repeat(100_000)}` } },
]

test('what is written is read back as the lines that it stands for', async () => {
  for (const format of forms) {
    const events = odd.map((parts) => buildEvent(parts))
    const file = await writeParquet(format.table!, events)
    expect(await linesIn(file), format.name).toEqual(events.map((event) => format.encode(event)))
  }
})

test('an event without a time is a row of native, and a null in its column', async () => {
  const { time: _, timeMs: __, ...timeless } = buildEvent()
  const format = createFormat({ format: 'native' })
  const file = await writeParquet(native, [timeless, buildEvent()])
  expect(await linesIn(file)).toEqual([timeless, buildEvent()].map((event) => format.encode(event)))
})

/** Values as no event has them: what keeps them from their columns may change. */
const value = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(undefined, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1.5, -0, NaN, Infinity, 'no time'),
)
const parts = fc.record(
  {
    time: value,
    zone: fc.record({ id: value, name: value }),
    action: value,
    severity: value,
    rule: fc.record({ id: value, group: value, message: value }),
    client: fc.record({ address: value, ip: value, asn: value, country: value }),
    response: fc.record({ status: value }),
    pop: value,
    match: value,
    request: fc.record({ id: value, method: fc.string(), url: fc.string(), userAgent: value }),
    labels: value,
    log: fc.dictionary(fc.string(), fc.jsonValue()),
    other: value,
  },
  { requiredKeys: [] },
)

test('a value of a wrong kind is null in its column, and costs its neighbours nothing', async () => {
  const good = buildEvent({ id: 'good' })
  await fc.assert(
    fc.asyncProperty(parts, async (wrong) => {
      // As if the normaliser did not do what its types say.
      const bad = { ...buildEvent({ id: 'bad' }), ...(wrong as EventParts) } as typeof good
      const lines = await linesIn(await writeParquet(native, [good, bad, good]))
      expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['good', 'bad', 'good'])
      expect(lines[0]).toBe(lines[2])
    }),
  )
})

/** The returned function gives the longest time of the CPU that this thread took between two turns of its loop. */
function watchTurns(): () => number {
  const now = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let [isOver, longest, last] = [false, 0, now()]
  const turn = () => {
    const at = now()
    longest = Math.max(longest, at - last)
    last = at
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
    return longest
  }
}

describe('a file', () => {
  const events = (count: number) =>
    Array.from({ length: count }, (_, index) => buildEvent({ id: `line ${index}` }))
  const lines = lineTable(({ id }) => id)

  it('is the same for the same rows', async () => {
    const events = odd.map((parts) => buildEvent(parts))
    expect((await writeParquet(native, events)).equals(await writeParquet(native, events))).toBe(true)
  })

  it('has groups of 5,000 rows, which are read one by one; no rows are a file, too', async () => {
    for (const [count, groups] of [
      [0, []],
      [5_000, [5_000]],
      [10_001, [5_000, 5_000, 1]],
    ] as const) {
      const file = await writeParquet(lines, events(count))
      expect(metadataOf(file).row_groups.map(({ num_rows }) => Number(num_rows))).toEqual(groups)
      expect(await linesIn(file, () => lines)).toEqual(events(count).map(({ id }) => id))
    }
  })

  it('ends a group with the row that reaches 8 MiB of texts', async () => {
    const sizes = [5_000_000, 3_000_000, 1_000_000, 9_000_000, 1, 8_388_607, 1]
    const events = sizes.map((size) => buildEvent({ id: 'x'.repeat(size) }))
    const { row_groups } = metadataOf(await writeParquet(lines, events))
    expect(row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([3, 1, 2, 1])
  })

  it('has only the events that were kept', async () => {
    const { signal } = new AbortController()
    for (const { table, encode } of forms) {
      const { offer, keep, end } = createParquet(table!, signal)
      const kept = odd.map((parts) => buildEvent(parts))
      for (const event of kept) {
        offer(buildEvent({ id: 'too large' }))
        offer(event)
        await keep()
      }
      offer(buildEvent({ id: 'too large' }))
      expect(await linesIn(await end())).toEqual(kept.map((event) => encode(event)))
    }
  })

  it('is written and read without keeping other work waiting for 50 ms', async () => {
    const events = Array.from({ length: 10_000 }, (_, index) => buildEvent({ id: `id ${index}` }))
    const { signal } = new AbortController()
    for (const format of [forms[0]!, forms[2]!]) {
      const rounds: number[] = []
      // Of three, since the first one runs code that is not compiled yet.
      for (let round = 0; round < 3; round++) {
        const longest = watchTurns()
        const draft = await draftOf(events, 'parquet', format, Infinity, signal)
        for await (const _ of readParquet(await draft.body(), tableFor)) continue
        rounds.push(longest())
      }
      expect(Math.min(...rounds)).toBeLessThan(50)
    }
  })

  it('is not written to its end once it is aborted', async () => {
    const stopping = new AbortController()
    const writing = writeParquet(lines, events(20_000), stopping.signal)
    stopping.abort()
    await expect(writing).rejects.toMatchObject({ kind: 'cancelled' })
  })

  it('says who wrote it, its layout, and the earliest and the latest time of each group', async () => {
    const times = ['2025-11-20T12:00:00.123456Z', '2025-11-20T11:00:00.000Z', '2025-11-20T13:00:00.000Z']
    const events = times.map((time) => buildEvent({ time, timeMs: Date.parse(time) }))
    const { created_by, key_value_metadata, row_groups } = metadataOf(await writeParquet(native, events))
    expect(created_by).toBe('shieldlog')
    expect(key_value_metadata).toEqual([{ key: 'shieldlog.layout', value: 'native/1' }])
    expect(row_groups[0]!.columns[1]!.meta_data).toMatchObject({
      path_in_schema: ['time'],
      codec: 'ZSTD',
      statistics: { min_value: new Date(times[1]!), max_value: new Date(times[2]!), null_count: 0n },
    })
  })

  it('of another layout, of nobody or damaged is an error', async () => {
    const file = await writeParquet({ ...native, layout: 'native/9' }, [buildEvent()])
    await expect(linesIn(file)).rejects.toThrow('this version cannot read columns of layout native/9')
    const whole = await writeParquet(native, [buildEvent()])
    await expect(linesIn(whole.subarray(0, -9))).rejects.toThrow()
    const damaged = Buffer.from(whole)
    damaged.fill(0xff, 4, 200)
    await expect(linesIn(damaged)).rejects.toThrow()
  })
})

describe('columns', () => {
  const fixture = (name: string) => readFileSync(new URL(`../../fixtures/lake/${name}`, import.meta.url))

  it.each(['native-1', 'ocsf-1'])('%s are only added, at the end, and keep their types', async (name) => {
    const [format] = name.split('-') as ['native' | 'ocsf']
    const table = createFormat({ format }).table!
    const kept = JSON.parse(String(fixture(`${name}.columns.json`))) as unknown[]
    expect(table.columns.slice(0, kept.length)).toEqual(kept)
    // A file of the first version.
    const lines = String(fixture(`${name}.ndjson`))
      .trimEnd()
      .split('\n')
    expect(await linesIn(fixture(`${name}.parquet`))).toEqual(lines)
  })

  it('that an older version did not have are absent in its lines', async () => {
    const columns = native.columns.slice(0, -4)
    const spare = native.columns.map(() => ({ add: () => undefined }))
    const row: Table['row'] = (event, leaves) => native.row(event, [...leaves, ...spare])
    const [before, now] = [buildEvent({ id: 'a' }), buildEvent({ id: 'b' })]
    const format = createFormat({ format: 'native', include: { labels: false, log: false } })
    const lines = [
      ...(await linesIn(await writeParquet({ ...native, columns, row }, [before]))),
      ...(await linesIn(await writeParquet(format.table!, [now]))),
    ]
    expect(lines).toEqual([before, now].map((event) => format.encode(event)))
  })
})
