import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { labelText, metricText } from '../../../src/telemetry/metrics/exposition.ts'
import { known, setUpMetrics } from '../known.ts'
import { parseExposition, valueOf } from './exposition.ts'

it('has each series with its labels and value', async () => {
  const hostile = { x: 'quote " back \\ line\n', y: '' }
  const gauge = { name: 'a', help: 'a', type: 'gauge' }
  const series = [
    [labelText({ y: 'ü', x: 'plain' }, ['x', 'y']), Infinity],
    [labelText(hostile), 1e-7],
    ['', -1],
  ] as const
  const families = parseExposition(await metricText(gauge, series, () => Promise.resolve()))
  expect(valueOf(families, 'a', { x: 'plain', y: 'ü' })).toBe(Infinity)
  expect(valueOf(families, 'a', hostile)).toBe(1e-7)
  expect(valueOf(families, 'a')).toBe(-1)
})

it('writes a metric anew once it has changed, also while it was being written', async () => {
  const { metrics, clock } = setUpMetrics()
  const zones = Array.from({ length: 1000 }, (_, index) => ({ id: index + 1, name: '', account: 'default' }))
  metrics.prepare({ ...known, zones })
  const value = (text: readonly string[]) =>
    valueOf(parseExposition(text), 'shieldlog_events_fetched_total', { zone: '1' })
  const meanwhile = metrics.text()
  // So many that the event loop turns while they are written.
  await clock.advance(1000)
  await setImmediate()
  metrics.count('events_fetched_total', { zone: '1' }, 4)
  expect(value(await meanwhile)).toBe(0)
  expect(value(await metrics.text())).toBe(4)
})

it('writes a histogram with the sums of its buckets', async () => {
  const { metrics } = setUpMetrics()
  metrics.prepare(known)
  const labels = { sink: 'siem', priority: 'live' }
  metrics.count('event_delay_seconds', labels, [0.5, 3, 3, 70])
  metrics.count('event_delay_seconds', { ...labels, sink: 'unknown' }, 1)
  const families = parseExposition(await metrics.text())
  const value = (part: string, more = {}) =>
    valueOf(families, `shieldlog_event_delay_seconds${part}`, { ...more, ...labels })
  const buckets = ['1', '5', '60', '+Inf'].map((le) => value('_bucket', { le }))
  expect([...buckets, value('_sum'), value('_count')]).toEqual([1, 3, 3, 4, 76.5, 4])
})
