import { dayMs, dayOf, startOf } from '../../../src/domain/day.ts'
import { ofRounds, type Figure } from '../figures/figure.ts'
import { assertWhole, runShip, withSimulator, type Run } from '../processes/runs.ts'
import type { WaysOptions } from './ways.ts'

const zone = 101
const counts = [1, 3] as const

/** What three sinks on one zone cost, against one: requests to the API, and CPU. */
export function measureShared({ events, rounds, tell }: WaysOptions): Promise<Figure[]> {
  const day = dayOf(Date.now())
  const offsetMs = startOf(day) + dayMs / 2 - Date.now()
  return withSimulator({ zones: [zone], days: { [day]: events }, offsetMs }, async (url) => {
    const runs = new Map<number, Run[]>(counts.map((count) => [count, []]))
    for (let round = 0; round < rounds; round++) {
      for (const count of round % 2 === 0 ? counts : counts.toReversed()) {
        const sinks = Array.from({ length: count }, (_, index) => {
          return { name: `files-${index}`, type: 'file', path: `events-${index}` }
        })
        const run = await runShip({ url, zones: [zone], days: 1, sinks, offsetMs })
        assertWhole(run, count * events, `${count} sinks`)
        runs.get(count)!.push(run)
      }
      tell(`round ${round + 1} of ${rounds}: three sinks, ${runs.get(3)!.at(-1)!.requests} requests`)
    }
    const ratio = (of: (run: Run) => number) =>
      ofRounds(runs.get(3)!.map((run, round) => of(run) / of(runs.get(1)![round]!)))
    const requests = ratio((run) => run.requests)
    return [
      {
        name: 'three sinks on a zone: requests, of one sink',
        ...requests,
        unit: 'times',
        limit: { atMost: 1.1 },
      },
      {
        name: 'three sinks on a zone: CPU, of one sink',
        ...ratio((run) => run.cpuSeconds),
        unit: 'times',
        limit: { atMost: 1.8 },
      },
      {
        name: 'three sinks on a zone: peak RSS',
        ...ofRounds(runs.get(3)!.map((run) => run.peakBytes / 1e6)),
        unit: 'MB',
      },
    ]
  })
}
