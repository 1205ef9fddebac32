import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/clock.ts'
import { dayOf, type Day } from '../../../src/domain/day.ts'
import { ofRounds, type Figure } from '../figures.ts'
import { withDaemon } from '../processes/daemon.ts'
import { runBare, withFolder, withServer, zonesOf } from '../processes/runs.ts'
import { toFiles } from './sinks.ts'

const pageEvents = 1_000
/** Two sizes: what one costs more than the other is without the start. */
const barePages = [60, 240] as const
const settledMs = 8_000
const observedMs = 20_000

interface Quiet {
  readonly name: string
  readonly zones: number
  readonly sinks: number
  readonly compress: boolean
  readonly everySeconds: number
}

const few = { zones: 12, sinks: 1, compress: false, everySeconds: 1 }
const cases: readonly Quiet[] = [
  { ...few, name: 'plain, 12 streams' },
  { ...few, name: 'gzip, 12 streams', compress: true },
  { ...few, name: 'plain, 12 streams of three sinks', zones: 4, sinks: 3 },
  { ...few, name: 'gzip, 12 streams of three sinks', zones: 4, sinks: 3, compress: true },
  { ...few, name: 'plain, 1,200 streams', zones: 1_200, everySeconds: 20 },
  { ...few, name: 'gzip, 1,200 streams', zones: 1_200, everySeconds: 20, compress: true },
]

interface IdleOptions {
  readonly rounds: number
  readonly tell: (line: string) => void
}

/** What a poll without news costs, with its share of planning and upkeep, against the bare loop on the same page. */
export async function measureIdle({ rounds, tell }: IdleOptions): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const quiet of cases) {
    const shares: number[] = []
    // The many streams take long to begin with.
    const most = quiet.zones > 100 ? 1 : Math.min(rounds, 3)
    let detail = ''
    while (shares.length < most) {
      const { pollMs, bareMs } = await measure(quiet)
      shares.push(pollMs / bareMs)
      detail = `${pollMs.toFixed(1)} ms a request, the bare loop ${bareMs.toFixed(1)}`
      tell(`idle: ${quiet.name}, ${shares.at(-1)!.toFixed(2)}, ${detail}`)
    }
    const name = `poll of a full page without news, ${quiet.name}: of the bare loop on that page, by CPU`
    figures.push({ name, ...ofRounds(shares), unit: 'times', limit: { atMost: 0.5 }, detail })
  }
  return figures
}

function measure(quiet: Quiet): Promise<{ readonly pollMs: number; readonly bareMs: number }> {
  const day = dayOf(systemClock.now())
  const page = { zones: [101], days: { [day]: pageEvents }, pageSize: pageEvents, compress: quiet.compress }
  return withServer({ page }, async (url) => {
    const before = await bareSeconds(url, day)
    const pollMs = (await pollSeconds(url, quiet)) * 1_000
    const after = await bareSeconds(url, day)
    return { pollMs, bareMs: ((before + after) / 2) * 1_000 }
  })
}

/** Of a page. */
async function bareSeconds(url: string, day: Day): Promise<number> {
  const [few, many] = barePages
  const cost = async (times: number) => (await runBare({ url, zone: 101, day, times })).cpuSeconds
  const [less, more] = [await cost(few), await cost(many)]
  return (more - less) / (many - few)
}

/** Of a request, whose answer serves all sinks. */
function pollSeconds(url: string, { zones, sinks, everySeconds }: Quiet): Promise<number> {
  return withFolder(async (folder) => {
    const named = Array.from({ length: sinks }, (_, index) => ({ ...toFiles, name: `files-${index}` }))
    const config = {
      api: { baseUrl: url, accessKey: 'bench' },
      zones: zonesOf(zones),
      poll: { everySeconds, firstRunDays: 1 },
      state: `sqlite:${folder}/state.db`,
      sinks: named.map((sink) => ({ ...sink, path: sink.name })),
    }
    return withDaemon(folder, config, async (daemon) => {
      const requests = async () => (await daemon.metrics()).sum('shieldlog_api_requests_total')
      while ((await requests()) < 4 * zones) await sleep(200)
      await sleep(settledMs)
      const [before, beforeCpu] = [await requests(), daemon.usage().cpuSeconds]
      await sleep(Math.max(observedMs, 1_000 * everySeconds))
      return (daemon.usage().cpuSeconds - beforeCpu) / ((await requests()) - before)
    })
  })
}
