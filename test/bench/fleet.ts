import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { dayOf, daysFrom, shiftDay } from '../../src/domain/day.ts'
import { profileFlags, type NodeFlags } from './child.ts'
import { withDaemon, type Metrics, type RunningDaemon } from './daemon.ts'
import type { Figure } from './figure.ts'
import { commandCounts, keyBytes, withRedis } from './redis-server.ts'
import { withFolder, withSimulator } from './runs.ts'

export interface FleetOptions {
  readonly zones: number
  /** Of observing, once the days before have been read. */
  readonly seconds: number
  readonly engines: readonly Engine[]
  readonly profileFolder?: string | undefined
  readonly tell: (line: string) => void
}

export type Engine = 'redis' | 'embedded'

const everySeconds = 30
const days = 3
const eventsToday = 300
/** Of each of the two days before, which are read once. */
const eventsBefore = 600
const pageSize = 200
const latencyMs = 50
const ratePerSecond = 0.05
const mostLagSeconds = 45
const caughtUpWithinMs = 300_000
/** As a Prometheus would, but more often. */
const lookEveryMs = 5_000

interface Observed {
  readonly lagSeconds: number
  readonly catchUpSeconds: number
  readonly rounds: number
  readonly requestsPerSecond: number
  readonly cpuShare: number
  readonly peakBytes: number
  readonly events: number
}

/** How one process carries many zones at the default pace, the state in each engine. */
export async function measureFleet(options: FleetOptions): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const engine of options.engines)
    figures.push(...(await (engine === 'redis' ? overRedis(options) : embedded(options))))
  return figures
}

function overRedis(options: FleetOptions): Promise<Figure[]> {
  return withFolder((folder) =>
    withRedis(folder, async (client, url) => {
      let commands: Figure[] = []
      const figures = await shipped('Redis', folder, url, options, async (observe) => {
        const before = await commandCounts(client)
        const beganMs = performance.now()
        const seen = await observe()
        commands = [commandFigure(before, await commandCounts(client), (performance.now() - beganMs) / 1000)]
        return seen
      })
      const { events, ...rest } = figures
      return [...rest.figures, ...commands, ...(await sizeFigures(client, options.zones * days, events))]
    }),
  )
}

function embedded(options: FleetOptions): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const state = `sqlite:${join(folder, 'state.db')}`
    return (await shipped('SQLite', folder, state, options, (observe) => observe())).figures
  })
}

async function shipped(
  name: string,
  folder: string,
  state: string,
  { zones: count, seconds, profileFolder, tell }: FleetOptions,
  around: (observe: () => Promise<Observed>) => Promise<Observed>,
): Promise<{ figures: Figure[]; events: number }> {
  const zones = Array.from({ length: count }, (_, index) => 101 + index)
  const simulated = { zones, days: eventsByDay(), pageSize, latencyMs, live: { ratePerSecond } }
  const flags: NodeFlags = profileFlags(profileFolder, `fleet-${name.toLowerCase()}`)
  return withSimulator(simulated, async (baseUrl) => {
    const config = {
      api: { baseUrl, accessKey: 'bench' },
      zones,
      poll: { everySeconds },
      state,
      sinks: [{ name: 'archive', type: 'file', path: join(folder, 'events') }],
    }
    return withDaemon(folder, config, flags, async (daemon) => {
      const catchUpSeconds = await caughtUp(daemon)
      tell(`${count} zones, ${name}: caught up after ${catchUpSeconds.toFixed(0)} s`)
      const seen = await around(() => observed(daemon, seconds, count, catchUpSeconds))
      tell(`${count} zones, ${name}: greatest lag ${seen.lagSeconds.toFixed(1)} s`)
      return { figures: figuresOf(`${count} zones, ${name}`, seen), events: seen.events }
    })
  })
}

function eventsByDay(): Record<string, number> {
  const today = dayOf(Date.now())
  const before = daysFrom(shiftDay(today, 1 - days), shiftDay(today, -1))
  return Object.fromEntries(
    [...before, today].map((day) => [day, day === today ? eventsToday : eventsBefore]),
  )
}

const greatestLag = (metrics: Metrics): number => Math.max(...metrics.values('shieldlog_zone_lag_seconds'))

/** Resolves to the seconds that it took. */
async function caughtUp(daemon: RunningDaemon): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const lagSeconds = greatestLag(await daemon.metrics())
    const tookMs = performance.now() - beganMs
    if (lagSeconds < mostLagSeconds) return tookMs / 1000
    if (tookMs > caughtUpWithinMs) throw new Error(`the lag is still ${lagSeconds} s`)
    await sleep(lookEveryMs)
  }
}

async function observed(
  daemon: RunningDaemon,
  seconds: number,
  zones: number,
  catchUpSeconds: number,
): Promise<Observed> {
  const before = await daemon.metrics()
  const beganMs = performance.now()
  let now = before
  let lagSeconds = greatestLag(before)
  while (performance.now() - beganMs < seconds * 1000) {
    await sleep(lookEveryMs)
    now = await daemon.metrics()
    lagSeconds = Math.max(lagSeconds, greatestLag(now))
  }
  const tookSeconds = (performance.now() - beganMs) / 1000
  const more = (name: string) => now.sum(name) - before.sum(name)
  // Each poll of these small days is a scan of two pages.
  const rounds = more('shieldlog_pages_fetched_total') / zones / Math.ceil(eventsToday / pageSize)
  return {
    lagSeconds,
    catchUpSeconds,
    rounds,
    requestsPerSecond: more('shieldlog_api_requests_total') / tookSeconds,
    cpuShare: more('process_cpu_seconds_total') / tookSeconds,
    peakBytes: daemon.peakBytes(),
    events: now.sum('shieldlog_events_delivered_total'),
  }
}

function figuresOf(name: string, seen: Observed): Figure[] {
  return [
    {
      name: `${name}: greatest lag, every ${everySeconds} s`,
      value: seen.lagSeconds,
      unit: 's',
      limit: { atMost: mostLagSeconds },
      detail: `${seen.rounds.toFixed(1)} rounds, ${seen.requestsPerSecond.toFixed(0)} requests a second`,
    },
    { name: `${name}: peak RSS`, value: seen.peakBytes / 1e6, unit: 'MB', limit: { atMost: 200 } },
    { name: `${name}: CPU, share of one core`, value: seen.cpuShare, unit: '' },
    {
      name: `${name}: catching up with the days before`,
      value: seen.catchUpSeconds,
      unit: 's',
      detail: `${seen.events.toLocaleString('en')} events`,
    },
  ]
}

function commandFigure(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  seconds: number,
): Figure {
  const rates = [...after].map(
    ([name, calls]) => [name, (calls - (before.get(name) ?? 0)) / seconds] as const,
  )
  const top = rates.toSorted(([, left], [, right]) => right - left).slice(0, 8)
  return {
    name: 'Redis: commands a second, those inside scripts included',
    value: rates.reduce((sum, [, rate]) => sum + rate, 0),
    unit: '',
    detail: top.map(([name, rate]) => `${name} ${rate.toFixed(0)}`).join(', '),
  }
}

async function sizeFigures(client: Redis, streams: number, events: number): Promise<Figure[]> {
  const sizes = await keyBytes(client, (key) => (key.endsWith(':s') ? 'seen' : 'besides'))
  return [
    {
      name: 'Redis: seen',
      value: (sizes.get('seen') ?? 0) / events,
      unit: 'bytes an event',
      limit: { atMost: 12 },
    },
    {
      name: 'Redis: all besides',
      value: (sizes.get('besides') ?? 0) / streams,
      unit: 'bytes a stream',
      limit: { atMost: 1_000 },
    },
  ]
}
