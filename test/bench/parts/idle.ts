import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/clock.ts'
import { dayOf } from '../../../src/domain/day.ts'
import type { Figure } from '../figures.ts'
import { withDaemon } from '../processes/daemon.ts'
import { runBare, withFolder, withSimulator, zonesOf } from '../processes/runs.ts'
import { toFiles, yesterday } from './sinks.ts'

/** Ten zones, polled each second, each with a full page without news. */
const zones = zonesOf(10)
const pageEvents = 1_000
const barePages = 60
const settledMs = 8_000
const observedMs = 20_000

/** What a poll without news costs, with its share of planning and upkeep, against the bare loop on the same page. */
export function measureIdle({ tell }: { readonly tell: (line: string) => void }): Promise<Figure[]> {
  const today = dayOf(systemClock.now())
  const days = { [today]: pageEvents, [yesterday()]: barePages * pageEvents }
  return withSimulator({ zones, days, pageSize: pageEvents }, (url) =>
    withFolder(async (folder) => {
      const bare = await runBare({ url, zone: zones[0]!, day: yesterday() })
      const config = {
        api: { baseUrl: url, accessKey: 'bench' },
        zones,
        poll: { everySeconds: 1, firstRunDays: 1 },
        state: `sqlite:${folder}/state.db`,
        sinks: [toFiles],
      }
      const [polls, cpuSeconds] = await withDaemon(folder, config, async (daemon) => {
        const requests = async () => (await daemon.metrics()).sum('shieldlog_api_requests_total')
        await sleep(settledMs)
        const [before, beforeCpu] = [await requests(), daemon.usage().cpuSeconds]
        await sleep(observedMs)
        return [(await requests()) - before, daemon.usage().cpuSeconds - beforeCpu] as const
      })
      tell(`idle: ${polls} polls, CPU ${cpuSeconds.toFixed(2)} s`)
      const barePage = bare.cpuSeconds / (bare.events / pageEvents)
      const detail = `${((cpuSeconds / polls) * 1000).toFixed(1)} ms a poll, the bare loop ${(barePage * 1000).toFixed(1)}`
      const value = cpuSeconds / polls / barePage
      return [
        {
          name: 'poll of a full page without news, of the bare loop on that page, by CPU',
          value,
          unit: 'times',
          limit: { atMost: 0.35 },
          detail,
        },
      ]
    }),
  )
}
