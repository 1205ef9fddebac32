import { formats } from '../../../src/formats/registry.ts'
import { costOfFormat, sampleEvents } from '../cost/costs.ts'
import type { Figure } from '../figures/figure.ts'
import { race, ratesOf, toFiles, type Way, type WaysOptions } from './ways.ts'

/** Into files, in each format. */
export async function measureFormats(options: WaysOptions): Promise<Figure[]> {
  const names = Object.keys(formats) as (keyof typeof formats)[]
  const nameOf = (format: string) => `format ${format}`
  const ways = names.map((format): Way => ({ name: nameOf(format), sink: { ...toFiles, format } }))
  const raced = await race(ways, options)
  const events = sampleEvents()
  const sizes = await Promise.all(
    names.map(async (format): Promise<Figure[]> => {
      const { plain, compressed } = await costOfFormat(format, events)
      return [
        { name: `${nameOf(format)}: a line`, value: plain, unit: 'bytes an event' },
        { name: `${nameOf(format)}: a line, compressed`, value: compressed, unit: 'bytes an event' },
      ]
    }),
  )
  return [...ways.flatMap((way) => ratesOf(way, raced)), ...sizes.flat()]
}
