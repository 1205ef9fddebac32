import { createFormat, type FormatName } from '../../../src/formats/registry.ts'
import { draftOf, type Form } from '../../../src/sinks/objects/form.ts'
import { sampleEvents } from '../cost/costs.ts'
import { ofRounds, type Figure } from '../figures.ts'

const events = 20_000
const formats: readonly FormatName[] = ['native', 'ocsf']

interface Options {
  readonly rounds: number
  readonly tell: (line: string) => void
}

/** What an object in Parquet takes, of one in gzip with the same events. */
export async function measureObjects({ rounds, tell }: Options): Promise<Figure[]> {
  const given = sampleEvents(events)
  const figures: Figure[] = []
  for (const name of formats) {
    const format = createFormat({ format: name })
    const costOf = async (form: Form) => {
      const before = process.cpuUsage()
      const { signal } = new AbortController()
      const body = await (await draftOf(given, form, format, Infinity, signal)).body()
      const { user, system } = process.cpuUsage(before)
      return { ms: (user + system) / 1000, bytes: body.length }
    }
    const [cpu, sizes]: [number[], number[]] = [[], []]
    // The first one runs code that is not compiled yet.
    for (let round = 0; round <= rounds; round++) {
      const [gzip, parquet] = [await costOf('gzip'), await costOf('parquet')]
      tell(`${name}, 20,000 events: gzip ${gzip.ms.toFixed()} ms, Parquet ${parquet.ms.toFixed()} ms`)
      if (round === 0) continue
      cpu.push(parquet.ms / gzip.ms)
      sizes.push(parquet.bytes / gzip.bytes)
    }
    const row = (what: string, ratios: readonly number[], atMost: number): Figure => {
      const full = `Parquet object of 20,000 events in ${name}, of a gzip one: ${what}`
      return { name: full, ...ofRounds(ratios), unit: 'times', limit: { atMost } }
    }
    figures.push(row('CPU', cpu, 2.2), row('size', sizes, 0.5))
  }
  return figures
}
