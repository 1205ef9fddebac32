import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dayOf, daysFrom, shiftDay } from '../../../src/domain/day.ts'
import { ofRounds, type Figure } from '../figures/figure.ts'
import { profileFlags, type NodeFlags } from '../processes/child.ts'
import { readMetrics, withDaemon, type Metrics, type RunningDaemon } from '../processes/daemon.ts'
import { withRedis, commandFigure, sizeFigures, watchCommands } from '../processes/redis-server.ts'
import { withFolder, withSimulator, zonesOf } from '../processes/runs.ts'

export interface FleetOptions {
  readonly zones: readonly number[]
  /** Today counts as one. */
  readonly days: number
  /** Of observing, once the days before have been read. */
  readonly seconds: number
  /** Between polls of a stream; as fast as half a core carries unless given. */
  readonly everySeconds?: number | undefined
  readonly engines: readonly Engine[]
  /** Over Redis: fleets of so many processes. */
  readonly workers: readonly number[]
  readonly profileFolder?: string | undefined
  readonly tell: (line: string) => void
}

export type Engine = 'redis' | 'embedded'

const pageSize = 200
const latencyMs = 50
const ratePerSecond = 0.05
/** Zones that are polled every 30 s; with more of them each is polled as many times less often. */
const zonesAt30Seconds = 500
const caughtUpWithinMs = 900_000
/** As a Prometheus would, but more often. */
const lookEveryMs = 5_000

/** How processes carry many zones, with the state in each engine. */
export async function measureFleet(options: FleetOptions): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const zones of options.zones)
    for (const engine of options.engines)
      for (const processes of engine === 'redis' ? options.workers : [1]) {
        const name = `${zones} zones, ${engine === 'redis' ? `Redis, ${processes} processes` : 'SQLite'}`
        const { everySeconds = 30 * Math.max(1, zones / zonesAt30Seconds) } = options
        const one = { name, zones, processes, everySeconds }
        figures.push(...(await withFolder((folder) => measureOne(engine, { ...one, folder }, options))))
      }
  return figures
}

interface Deployment {
  readonly name: string
  readonly zones: number
  readonly processes: number
  readonly everySeconds: number
  readonly folder: string
}

async function measureOne(engine: Engine, of: Deployment, options: FleetOptions): Promise<readonly Figure[]> {
  if (engine === 'embedded')
    return (await shipped(of, `sqlite:${join(of.folder, 'state.db')}`, options)).figures
  return withRedis(async (client, state) => {
    const watch = watchCommands(client)
    const { figures, events } = await shipped(of, state, options, watch.begin)
    const commands = commandFigure(of.name, await watch.end())
    const streams = of.zones * options.days
    return [...figures, commands, ...(await sizeFigures(of.name, client, { streams, events }))]
  })
}

interface Seen {
  readonly figures: readonly Figure[]
  readonly events: number
}

function shipped(
  { name, zones: count, folder, processes, everySeconds }: Deployment,
  state: string,
  { days, seconds, profileFolder, tell }: FleetOptions,
  begins: () => Promise<void> = async () => undefined,
): Promise<Seen> {
  const zones = zonesOf(count)
  const simulated = { zones, days: eventsByDay(count, days), pageSize, latencyMs, live: { ratePerSecond } }
  const flags = profileFlags(profileFolder, `fleet-${name.replaceAll(/\W+/g, '-')}`)
  return withSimulator(simulated, async (baseUrl) => {
    const config = {
      api: { baseUrl, accessKey: 'bench' },
      zones,
      poll: { everySeconds, firstRunDays: days },
      state,
      workers: { streams: Math.max(8, Math.ceil(count / 150)) },
      sinks: [{ name: 'archive', type: 'file', path: join(folder, 'events') }],
    }
    return withDaemons({ processes, folder, config, flags }, async (daemons) => {
      const catchUpSeconds = await caughtUp(daemons[0]!, everySeconds)
      tell(`${name}: caught up after ${catchUpSeconds.toFixed(0)} s`)
      await begins()
      return observed(name, daemons, { seconds, everySeconds, catchUpSeconds })
    })
  })
}

interface Daemons {
  readonly processes: number
  readonly folder: string
  readonly config: Readonly<Record<string, unknown>>
  readonly flags: NodeFlags
}

function withDaemons<T>(
  of: Daemons,
  work: (daemons: readonly RunningDaemon[]) => Promise<T>,
  started: readonly RunningDaemon[] = [],
): Promise<T> {
  if (started.length === of.processes) return work(started)
  const folder = join(of.folder, `process-${started.length + 1}`)
  mkdirSync(folder)
  // The profile of the first process: the others would write over it.
  const flags = started.length === 0 ? of.flags : []
  return withDaemon(folder, of.config, flags, (daemon) => withDaemons(of, work, [...started, daemon]))
}

/** Two or three pages a day, or one where the zones are so many that reading them takes long enough. */
function eventsByDay(zones: number, days: number): Record<string, number> {
  const [before, ofToday] = zones > zonesAt30Seconds ? [20, 20] : [600, 300]
  const today = dayOf(Date.now())
  return Object.fromEntries(
    daysFrom(shiftDay(today, 1 - days), today).map((day) => [day, day === today ? ofToday : before]),
  )
}

const greatestLag = (metrics: Metrics): number => Math.max(...metrics.values('shieldlog_zone_lag_seconds'))

/** Resolves to the seconds that it took. */
async function caughtUp(daemon: RunningDaemon, everySeconds: number): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const lagSeconds = greatestLag(await daemon.metrics())
    const tookMs = performance.now() - beganMs
    if (lagSeconds < everySeconds * 1.5) return tookMs / 1000
    if (tookMs > caughtUpWithinMs) throw new Error(`the lag is still ${lagSeconds} s`)
    await sleep(lookEveryMs)
  }
}

async function observed(
  name: string,
  daemons: readonly RunningDaemon[],
  {
    seconds,
    everySeconds,
    catchUpSeconds,
  }: Readonly<Record<'seconds' | 'everySeconds' | 'catchUpSeconds', number>>,
): Promise<Seen> {
  const all = () => Promise.all(daemons.map((daemon) => daemon.metrics()))
  const before = await all()
  const usedBefore = daemons.map((daemon) => daemon.usage().cpuSeconds)
  const beganMs = performance.now()
  const [scraped, asked, blocked]: [number[], number[], number[]] = [[], [], []]
  let lagSeconds = 0
  while (performance.now() - beganMs < seconds * 1000) {
    await sleep(lookEveryMs)
    const metrics = await daemons[0]!.ask('/metrics')
    const now = readMetrics(metrics.text)
    lagSeconds = Math.max(lagSeconds, greatestLag(now))
    blocked.push(Math.max(...now.values('nodejs_eventloop_lag_max_seconds')) * 1000)
    scraped.push(metrics.ms)
    asked.push((await daemons[0]!.ask('/status')).ms)
  }
  const tookSeconds = (performance.now() - beganMs) / 1000
  const shares = daemons.map((daemon, at) => (daemon.usage().cpuSeconds - usedBefore[at]!) / tookSeconds)
  const cpu = shares.reduce((sum, share) => sum + share, 0)
  const after = await all()
  const sum = (of: readonly Metrics[], metric: string) =>
    of.reduce((total, each) => total + each.sum(metric), 0)
  const requested = 'shieldlog_api_requests_total'
  const requests = (sum(after, requested) - sum(before, requested)) / tookSeconds
  const events = sum(after, 'shieldlog_events_delivered_total')
  const peaks = daemons.map((daemon) => daemon.usage().peakBytes / 1e6)
  const figures: Figure[] = [
    {
      name: 'greatest lag',
      value: lagSeconds,
      unit: 's',
      limit: { atMost: everySeconds * 1.5 },
      detail: `polled every ${everySeconds} s`,
    },
    { name: 'requests a second', value: requests, unit: '' },
    {
      name: 'CPU, share of one core',
      value: cpu,
      unit: '',
      detail: `by process: ${shares.map((share) => share.toFixed(2)).join(' ')}`,
    },
    ...(requests === 0 ? [] : [{ name: 'CPU a request', value: (cpu / requests) * 1000, unit: 'ms' }]),
    { name: 'peak RSS of a process', ...ofRounds(peaks), unit: 'MB' },
    { name: '/metrics', ...ofRounds(scraped), unit: 'ms', limit: { atMost: 200 } },
    { name: '/status', ...ofRounds(asked), unit: 'ms', limit: { atMost: 200 } },
    { name: 'longest block of the event loop', ...ofRounds(blocked), unit: 'ms' },
    {
      name: 'catching up with the days before',
      value: catchUpSeconds,
      unit: 's',
      detail: `${events.toLocaleString('en')} events`,
    },
  ]
  return { figures: figures.map((figure) => ({ ...figure, name: `${name}: ${figure.name}` })), events }
}
