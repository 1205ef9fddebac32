import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { registryTexts, WrittenTexts } from '../../../src/telemetry/metrics/exposition.ts'
import { parseExposition, valueOf } from './exposition.ts'

const atOnce = async () => undefined

async function read(registry: Registry, written = new WrittenTexts(new Set())) {
  return parseExposition(`${(await registryTexts(registry, written, atOnce)).join('\n\n')}\n`)
}

it('has every series with its labels and value, as the library writes them', async () => {
  const registry = new Registry()
  const registers = [registry]
  const gauge = new Gauge({ name: 'a', help: 'with \\ and\na line', labelNames: ['x', 'y'], registers })
  gauge.set({ x: 'plain', y: 'quote " back \\ line\n' }, Infinity)
  gauge.set({ x: 'second', y: '' }, 1e-7)
  registry.registerMetric(
    new Counter({ name: 'b_total', help: 'no series yet', labelNames: ['x'], registers: [] }),
  )
  new Histogram({ name: 'c', help: 'h', buckets: [1, 5], registers }).observe(3)
  const readWhenAsked = new Counter({
    name: 'd_total',
    help: 'read when asked',
    registers: [],
    collect() {
      this.inc(2)
    },
  })
  registry.registerMetric(readWhenAsked)
  const families = await read(registry)
  expect([...families.keys()]).toEqual(['a', 'b_total', 'c', 'd_total'])
  expect(valueOf(families, 'a', { x: 'plain', y: 'quote " back \\ line\n' })).toBe(Infinity)
  expect(valueOf(families, 'a', { x: 'second', y: '' })).toBe(1e-7)
  expect(families.get('b_total')!.samples).toEqual([])
  expect(valueOf(families, 'c_bucket', { le: '5' })).toBe(1)
  expect(valueOf(families, 'd_total')).toBe(2)
})

it('writes a metric anew once it has changed, also while it was being written', async () => {
  const registry = new Registry()
  const counter = new Counter({ name: 'n_total', help: 'n', registers: [registry] })
  const written = new WrittenTexts(new Set(['n_total']))
  const count = () => {
    counter.inc()
    written.changed('n_total')
  }
  const value = async () => valueOf(await read(registry, written), 'n_total')
  count()
  expect(await value()).toBe(1)
  counter.inc()
  expect(await value()).toBe(1)
  written.changed('n_total')
  expect(await value()).toBe(2)
  count()
  const meanwhile = await written.of('n_total', async () => {
    count()
    return 'old'
  })
  expect(meanwhile).toBe('old')
  expect(await value()).toBe(4)
})
