import { setTimeout as sleep } from 'node:timers/promises'
import { ofRounds, type Figure } from '../figures.ts'
import { withDaemon } from '../processes/daemon.ts'
import { withFolder, withSimulator } from '../processes/runs.ts'
import { toFiles, yesterday, type WaysOptions } from './sinks.ts'

const zone = 101
/** Small pages are kept for the other sink at the least cost each, and there are many of them. */
const [pages, pageEvents] = [4_000, 3]
/** Nothing listens there. */
const dead = { name: 'dead', type: 'http', url: 'http://127.0.0.1:9' }

/** What a healthy sink costs beside one that is down, of that sink alone. */
export async function measureBeside({ rounds, tell }: WaysOptions): Promise<Figure[]> {
  const events = pages * pageEvents
  const days = { [yesterday()]: events }
  const shares = await withSimulator({ zones: [zone], days, pageSize: pageEvents }, async (url) => {
    const cost = (sinks: readonly object[]) => cpuSeconds(url, sinks, events)
    const got: number[] = []
    while (got.length < Math.min(rounds, 3)) {
      const [alone, beside] = [await cost([toFiles]), await cost([toFiles, dead])]
      got.push(beside / alone)
      tell(`beside: CPU alone ${alone.toFixed(1)} s, beside a dead sink ${beside.toFixed(1)} s`)
    }
    return got
  })
  const name = 'a sink beside a dead one, small pages: of the sink alone, by CPU'
  return [{ name, ...ofRounds(shares), unit: 'times', limit: { atMost: 1.3 } }]
}

/** Until the files have all events. */
function cpuSeconds(url: string, sinks: readonly object[], events: number): Promise<number> {
  return withFolder((folder) => {
    const config = {
      api: { baseUrl: url, accessKey: 'bench' },
      zones: [zone],
      poll: { firstRunDays: 2 },
      state: `sqlite:${folder}/state.db`,
      sinks,
    }
    return withDaemon(folder, config, async (daemon) => {
      const before = daemon.usage().cpuSeconds
      while ((await daemon.metrics()).sum('shieldlog_events_delivered_total') < events) await sleep(100)
      return daemon.usage().cpuSeconds - before
    })
  })
}
