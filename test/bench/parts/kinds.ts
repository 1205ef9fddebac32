import { formats, type FormatName } from '../../../src/formats/registry.ts'
import { presets } from '../../../src/sinks/http/presets/registry.ts'
import { costOfFormat, costOfPreset, exampleSink, sampleEvents, type Cost } from '../cost/costs.ts'
import type { Figure } from '../figures/figure.ts'
import { withRedis } from '../processes/redis-server.ts'
import { withReceiver } from '../processes/runs.ts'
import { race, ratesOf, toFiles, type Way, type WaysOptions } from './ways.ts'

/** Into files, in each format. */
export function measureFormats(options: WaysOptions): Promise<Figure[]> {
  const events = sampleEvents()
  const ways = (Object.keys(formats) as FormatName[]).map((format) => ({
    name: `format ${format}`,
    sink: { ...toFiles, format },
    cost: () => costOfFormat(format, events),
  }))
  return withCosts(ways, { plain: 'a line', compressed: 'a line, compressed' }, options)
}

/** Over HTTP, with each preset as its example configures it, to a receiver that answers as the protocol demands. */
export function measurePresets(options: WaysOptions): Promise<Figure[]> {
  return withReceiver('http', (url) => {
    const events = sampleEvents()
    const ways = presets.map(({ name }) => ({
      name: `preset ${name}`,
      sink: exampleSink(name, `${url}/${name}`),
      cost: () => costOfPreset(name, events),
    }))
    return withCosts(ways, { plain: 'as sent, before compression', compressed: 'as sent' }, options)
  })
}

async function withCosts(
  ways: readonly (Way & { cost(): Promise<Cost> })[],
  words: Readonly<Record<keyof Cost, string>>,
  options: WaysOptions,
): Promise<Figure[]> {
  const raced = await race(ways, options)
  const sizes = await Promise.all(
    ways.map(async ({ name, cost }) => {
      const { plain, compressed } = await cost()
      return [
        { name: `${name}: ${words.plain}`, value: plain, unit: 'bytes an event' },
        { name: `${name}: ${words.compressed}`, value: compressed, unit: 'bytes an event' },
      ]
    }),
  )
  return [...ways.flatMap((way) => ratesOf(way, raced)), ...sizes.flat()]
}

/** Into files, with the state in each store. */
export function measureStores(options: WaysOptions): Promise<Figure[]> {
  return withRedis(async (client, url) => {
    const ways: Way[] = [
      { name: 'state in SQLite', sink: toFiles },
      { name: 'state in Redis', sink: toFiles, state: url },
    ]
    // Each run begins with nothing.
    const raced = await race(ways, { ...options, look: () => void client.flushall() })
    return ways.flatMap((way) => ratesOf(way, raced))
  })
}
