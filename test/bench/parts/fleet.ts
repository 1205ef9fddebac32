import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dayOf, daysFrom, shiftDay } from '../../../src/domain/day.ts'
import { ofRounds, type Figure } from '../figures/figure.ts'
import { profileFlags, type NodeFlags } from '../processes/child.ts'
import { readMetrics, withDaemon, type Metrics, type RunningDaemon } from '../processes/daemon.ts'
import { withRedis } from '../processes/redis-server.ts'
import { withFolder, withSimulator } from '../processes/runs.ts'
import { commandFigure, sizeFigures, watchCommands } from './fleet-redis.ts'

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

/** Of one fleet. */
interface Deployment {
  readonly zones: number
  readonly name: string
  readonly folder: string
  readonly state: string
  readonly processes: number
  readonly everySeconds: number
}

const pageSize = 200
const latencyMs = 50
const ratePerSecond = 0.05
/** Zones that are polled every 30 s; with more of them each is polled as many times less often. */
const zonesAt30Seconds = 500
const caughtUpWithinMs = 900_000
/** As a Prometheus would, but more often. */
const lookEveryMs = 5_000

interface Observed {
  readonly lagSeconds: number
  readonly catchUpSeconds: number
  readonly requestsPerSecond: number
  /** Of each process. */
  readonly cpuShares: readonly number[]
  readonly peakBytes: readonly number[]
  readonly answerMs: Readonly<Record<'/metrics' | '/status', readonly number[]>>
  readonly blockedMs: readonly number[]
  readonly events: number
}

/** How processes carry many zones, with the state in each engine. */
export async function measureFleet(options: FleetOptions): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const zones of options.zones) figures.push(...(await measureZones(zones, options)))
  return figures
}

async function measureZones(zones: number, options: FleetOptions): Promise<Figure[]> {
  const { engines, workers, everySeconds = 30 * Math.max(1, zones / zonesAt30Seconds) } = options
  const figures: Figure[] = []
  for (const engine of engines)
    for (const processes of engine === 'redis' ? workers : [1]) {
      const name = `${zones} zones, ${engine === 'redis' ? `Redis, ${processes} processes` : 'SQLite'}`
      figures.push(
        ...(await withFolder((folder) =>
          measureOne(engine, { name, zones, folder, processes, everySeconds }, options),
        )),
      )
    }
  return figures
}

async function measureOne(
  engine: Engine,
  of: Omit<Deployment, 'state'>,
  options: FleetOptions,
): Promise<Figure[]> {
  if (engine === 'embedded') {
    const state = `sqlite:${join(of.folder, 'state.db')}`
    return figuresOf({ ...of, state }, await shipped({ ...of, state }, options))
  }
  return withRedis(async (client, state) => {
    const watch = watchCommands(client)
    const seen = await shipped({ ...of, state }, options, watch.begin)
    const commands = commandFigure(of.name, await watch.end())
    const sizes = await sizeFigures(of.name, client, {
      streams: of.zones * options.days,
      events: seen.events,
    })
    return [...figuresOf({ ...of, state }, seen), commands, ...sizes]
  })
}

function shipped(
  { name, zones: count, folder, state, processes, everySeconds }: Deployment,
  { days, seconds, profileFolder, tell }: FleetOptions,
  begins: () => Promise<void> = async () => undefined,
): Promise<Observed> {
  const zones = Array.from({ length: count }, (_, index) => 101 + index)
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
      const seen = await observed(daemons, { seconds, catchUpSeconds })
      tell(`${name}: greatest lag ${seen.lagSeconds.toFixed(1)} s`)
      return seen
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
  daemons: readonly RunningDaemon[],
  { seconds, catchUpSeconds }: { seconds: number; catchUpSeconds: number },
): Promise<Observed> {
  const all = () => Promise.all(daemons.map((daemon) => daemon.metrics()))
  const before = await all()
  const usedBefore = daemons.map((daemon) => daemon.usage().cpuSeconds)
  const beganMs = performance.now()
  const answerMs = { '/metrics': [] as number[], '/status': [] as number[] }
  const blockedMs: number[] = []
  let lagSeconds = 0
  while (performance.now() - beganMs < seconds * 1000) {
    await sleep(lookEveryMs)
    const metrics = await daemons[0]!.ask('/metrics')
    const now = readMetrics(metrics.text)
    lagSeconds = Math.max(lagSeconds, greatestLag(now))
    blockedMs.push(Math.max(...now.values('nodejs_eventloop_lag_max_seconds')) * 1000)
    answerMs['/metrics'].push(metrics.ms)
    answerMs['/status'].push((await daemons[0]!.ask('/status')).ms)
  }
  const tookSeconds = (performance.now() - beganMs) / 1000
  const used = daemons.map((daemon, index) => daemon.usage().cpuSeconds - usedBefore[index]!)
  const after = await all()
  const sum = (of: readonly Metrics[], name: string) => of.reduce((total, each) => total + each.sum(name), 0)
  const more = (name: string) => sum(after, name) - sum(before, name)
  return {
    lagSeconds,
    catchUpSeconds,
    requestsPerSecond: more('shieldlog_api_requests_total') / tookSeconds,
    cpuShares: used.map((cpuSeconds) => cpuSeconds / tookSeconds),
    peakBytes: daemons.map((daemon) => daemon.usage().peakBytes),
    answerMs,
    blockedMs,
    events: sum(after, 'shieldlog_events_delivered_total'),
  }
}

function figuresOf({ name, everySeconds }: Deployment, seen: Observed): Figure[] {
  const cpu = seen.cpuShares.reduce((sum, share) => sum + share, 0)
  const answers = Object.entries(seen.answerMs).map(([path, ms]): Figure => ({
    name: `${name}: ${path}`,
    ...ofRounds(ms),
    unit: 'ms',
    limit: { atMost: 200 },
  }))
  return [
    {
      name: `${name}: greatest lag`,
      value: seen.lagSeconds,
      unit: 's',
      limit: { atMost: everySeconds * 1.5 },
      detail: `polled every ${everySeconds} s`,
    },
    { name: `${name}: requests a second`, value: seen.requestsPerSecond, unit: '' },
    {
      name: `${name}: CPU, share of one core`,
      value: cpu,
      unit: '',
      detail: `by process: ${seen.cpuShares.map((share) => share.toFixed(2)).join(' ')}`,
    },
    ...(seen.requestsPerSecond === 0
      ? []
      : [{ name: `${name}: CPU a request`, value: (cpu / seen.requestsPerSecond) * 1000, unit: 'ms' }]),
    {
      name: `${name}: peak RSS of a process`,
      ...ofRounds(seen.peakBytes.map((bytes) => bytes / 1e6)),
      unit: 'MB',
    },
    ...answers,
    { name: `${name}: longest block of the event loop`, ...ofRounds(seen.blockedMs), unit: 'ms' },
    {
      name: `${name}: catching up with the days before`,
      value: seen.catchUpSeconds,
      unit: 's',
      detail: `${seen.events.toLocaleString('en')} events`,
    },
  ]
}
