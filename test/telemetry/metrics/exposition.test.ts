import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { labelText } from '../../../src/telemetry/metrics/exposition.ts'
import { Histogram } from '../../../src/telemetry/metrics/histogram.ts'
import { Series } from '../../../src/telemetry/metrics/series.ts'
import { parseExposition, valueOf } from './exposition.ts'

const read = async (family: Series | Histogram) => parseExposition(await family.text(async () => undefined))

it('has each series with its labels and value', async () => {
  const hostile = { x: 'quote " back \\ line\n', y: '' }
  const gauge = new Series({ name: 'a', help: 'with \\ and\na line', type: 'gauge' })
  gauge.set(labelText({ x: 'plain', y: 'ü' }), Infinity)
  gauge.set(labelText(hostile), 1e-7)
  gauge.set('', -1)
  const families = await read(gauge)
  expect(valueOf(families, 'a', { x: 'plain', y: 'ü' })).toBe(Infinity)
  expect(valueOf(families, 'a', hostile)).toBe(1e-7)
  expect(valueOf(families, 'a')).toBe(-1)
})

it('adds to series that were started, until they are removed', async () => {
  const counter = new Series({ name: 'b_total', help: 'b', type: 'counter' })
  const value = async () => valueOf(await read(counter), 'b_total')
  counter.add('', [1])
  expect(await value()).toBeUndefined()
  counter.startAtZero('')
  counter.add('', [1, 2])
  counter.startAtZero('')
  expect(await value()).toBe(3)
  counter.remove('')
  expect(await value()).toBeUndefined()
})

it('writes a metric anew once it has changed, also while it was being written', async () => {
  const counter = new Series({ name: 'c_total', help: 'c', type: 'counter' })
  // So many that the event loop turns while they are written.
  for (let zone = 1; zone <= 1000; zone++) counter.startAtZero(labelText({ zone: String(zone) }))
  const first = { zone: '1' }
  const meanwhile = counter.text(async () => {
    await setImmediate()
  })
  counter.add(labelText(first), [4])
  expect(valueOf(parseExposition(await meanwhile), 'c_total', first)).toBe(0)
  expect(valueOf(await read(counter), 'c_total', first)).toBe(4)
})

it('writes a histogram with the sums of its buckets', async () => {
  const histogram = new Histogram({ name: 'd', help: 'd', bounds: [1, 5] })
  const sink = { sink: 'siem' }
  histogram.startAtZero(labelText(sink))
  histogram.add(labelText(sink), [0.5, 3, 3, 70])
  histogram.add(labelText({ sink: 'unknown' }), [1])
  const families = await read(histogram)
  const buckets = ['1', '5', '+Inf'].map((le) => valueOf(families, 'd_bucket', { le, ...sink }))
  expect(buckets).toEqual([1, 3, 4])
  expect(valueOf(families, 'd_sum', sink)).toBe(76.5)
  expect(valueOf(families, 'd_count', sink)).toBe(4)
  expect(families.get('d')!.samples).toHaveLength(5)
})
