import { presets } from '../../../src/sinks/http/presets/registry.ts'
import { costOfPreset, exampleSink, sampleEvents } from '../cost/costs.ts'
import type { Figure } from '../figures/figure.ts'
import { withReceiver } from '../processes/runs.ts'
import { race, ratesOf, type Way, type WaysOptions } from './ways.ts'

/** Over HTTP, with each preset as its example configures it, to a receiver that answers as the protocol demands. */
export function measurePresets(options: WaysOptions): Promise<Figure[]> {
  return withReceiver('http', async (url) => {
    const nameOf = (preset: string) => `preset ${preset}`
    const ways = presets.map(({ name }): Way => ({
      name: nameOf(name),
      sink: exampleSink(name, `${url}/${name}`),
    }))
    const raced = await race(ways, options)
    const events = sampleEvents()
    const sizes = await Promise.all(
      presets.map(async ({ name }): Promise<Figure[]> => {
        const { plain, compressed } = await costOfPreset(name, events)
        return [
          { name: `${nameOf(name)}: as sent, before compression`, value: plain, unit: 'bytes an event' },
          { name: `${nameOf(name)}: as sent`, value: compressed, unit: 'bytes an event' },
        ]
      }),
    )
    return [...ways.flatMap((way) => ratesOf(way, raced)), ...sizes.flat()]
  })
}
