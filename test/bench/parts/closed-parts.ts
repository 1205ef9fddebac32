import { createFakeClock } from '../../fakes/fake-clock.ts'
import { buildEvents, StreamLedger, streamOf } from '../../sinks/file/samples.ts'
import { createWorkbench } from '../../sinks/file/workbench.ts'
import { ofRounds, type Figure } from '../figures.ts'
import { measured } from '../processes/usage.ts'
import type { WaysOptions } from './sinks.ts'

/** Of a day: one, and one each five minutes. */
const counts = [1, 288] as const
const deliveries = 200

/** What a delivery costs late in a day whose parts are closed and compressed, of one at its beginning. */
export async function measureClosedParts({ rounds, tell }: WaysOptions): Promise<Figure[]> {
  const shares: number[] = []
  while (shares.length < rounds) {
    const [few, many] = [await deliveryMs(counts[0]), await deliveryMs(counts[1])]
    shares.push(many / few)
    tell(
      `parts: CPU of a delivery ${few.toFixed(2)} ms with one part, ${many.toFixed(2)} ms with ${counts[1]}`,
    )
  }
  const name = `a delivery beside ${counts[1]} closed gzip parts: of one beside one part, by CPU`
  return [{ name, ...ofRounds(shares), unit: 'times', limit: { atMost: 1.2 } }]
}

async function deliveryMs(parts: number): Promise<number> {
  const clock = createFakeClock()
  const bench = await createWorkbench()
  try {
    const rotate = { maxBytes: 1e9, maxAgeMinutes: 5 }
    const sink = bench.sink({ compress: 'gzip', rotate }, { clock })
    const ledger = new StreamLedger(streamOf(sink, 101))
    const ship = () => ledger.ship(sink, buildEvents(1))
    for (let part = 0; part < parts; part++) {
      await ship()
      await clock.advance(300_000)
    }
    // The last one is closed by a delivery, and compressed a minute later.
    await ship()
    await clock.advance(60_000)
    while (bench.named('PartCompressed').length < parts) await clock.advance(60_000)
    await ship()
    const { cpuSeconds } = await measured(async () => {
      for (let delivery = 0; delivery < deliveries; delivery++) await ship()
    })
    return (cpuSeconds / deliveries) * 1_000
  } finally {
    await bench.dispose()
  }
}
