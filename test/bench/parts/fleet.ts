import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dayOf, daysFrom, shiftDay } from '../../../src/domain/day.ts'
import { median, ofRounds, type Figure } from '../figures.ts'
import { readMetrics, withDaemon, type RunningDaemon } from '../processes/daemon.ts'
import { withRedis, commandFigure, sizeFigures, watchCommands } from '../processes/redis-server.ts'
import { withFolder, withSimulator, zonesOf } from '../processes/runs.ts'

export interface FleetOptions {
  /** Fleets of so many zones each. */
  readonly zones: readonly number[]
  /** Over Redis: fleets of so many processes. */
  readonly workers: readonly number[]
  readonly tell: (line: string) => void
}

/** Of each zone; today counts as one. */
const days = 3
/** Zones that are polled every 30 s; with more of them each is polled as many times less often. */
const zonesAt30Seconds = 500
const settledMs = 10_000
const atWorkMs = 100_000
const atRestMs = 10_000
/** Longer than any answer of the server is kept. */
const betweenMs = 3_200
const rounds = 9
const caughtUpWithinMs = 900_000
const answersWithinMs = 200

interface Fleet {
  readonly name: string
  readonly zones: number
  readonly sinks: number
  readonly processes: number
  readonly state: string
  readonly everySeconds: number
  /** Has new events while it is looked at, and an API that takes its time. */
  readonly atWork: boolean
}

/** What streams cost that have nothing to ship: memory, store, and the answers of the server. */
export async function measureRest(options: FleetOptions): Promise<Figure[]> {
  const rest = (zones: number, sinks: number) =>
    withFolder(async (folder) => {
      const file = join(folder, 'state.db')
      const name = `${zones} zones, ${sinks} sinks`
      const one = { name, zones, sinks, processes: 1, everySeconds: 3_600, atWork: false }
      const looked = await lookedAt({ ...one, state: `sqlite:${file}` }, folder, options)
      return { ...looked, name, streams: zones * sinks * days, storeBytes: statSync(file).size }
    })
  const alone = await rest(1, 1)
  const figures: Figure[] = []
  for (const zones of options.zones) {
    const { name, bytes, streams, storeBytes, shares, answers } = await rest(zones, 2)
    const detail = `${((bytes - alone.bytes) / streams / 1000).toFixed(1)} kB a stream more than with one zone`
    const rows: Figure[] = [
      { name: 'RSS at rest', value: bytes / 1e6, unit: 'MB', detail },
      { name: 'store', value: storeBytes / streams, unit: 'bytes a stream' },
      { name: 'CPU at rest, share of one core', value: shares[0]!, unit: '' },
      ...answers,
    ]
    figures.push(...rows.map((row) => ({ ...row, name: `${name}: ${row.name}` })))
  }
  return figures
}

/** How processes carry many zones, with the state in each engine. */
export async function measureFleet(options: FleetOptions): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const zones of options.zones) {
    const everySeconds = 30 * Math.max(1, zones / zonesAt30Seconds)
    const fleet = { zones, sinks: 1, everySeconds, atWork: true }
    const embedded = { ...fleet, name: `${zones} zones, SQLite`, processes: 1, state: 'sqlite:state.db' }
    figures.push(
      ...(await withFolder(async (folder) =>
        rowsAtWork(embedded, await lookedAt(embedded, folder, options)),
      )),
    )
    for (const processes of options.workers) {
      const name = `${zones} zones, Redis, ${processes} processes`
      const rows = await withFolder((folder) =>
        withRedis(async (client, state) => {
          const watch = watchCommands(client)
          const shared = { ...fleet, name, processes, state }
          const looked = await lookedAt(shared, folder, options, watch.begin)
          const commands = commandFigure(name, await watch.end())
          const { events } = looked
          const sizes = await sizeFigures(name, client, { streams: zones * days, events })
          return [...rowsAtWork(shared, looked), commands, ...sizes]
        }),
      )
      figures.push(...rows)
    }
  }
  return figures
}

function rowsAtWork({ name, everySeconds }: Fleet, looked: Looked): Figure[] {
  const { shares, requests, lagSeconds, peakBytes, answers, events, catchUpSeconds } = looked
  const share = shares.reduce((sum, each) => sum + each, 0)
  const byProcess = `by process: ${shares.map((each) => each.toFixed(2)).join(' ')}`
  const rows: Figure[] = [
    {
      name: 'greatest lag',
      value: lagSeconds,
      unit: 's',
      limit: { atMost: everySeconds * 1.5 },
      detail: `polled every ${everySeconds} s`,
    },
    { name: 'requests a second', value: requests, unit: '' },
    { name: 'CPU, share of one core', value: share, unit: '', detail: byProcess },
    { name: 'CPU a request', value: (share / requests) * 1000, unit: 'ms' },
    { name: 'peak RSS of a process', ...ofRounds(peakBytes.map((bytes) => bytes / 1e6)), unit: 'MB' },
    ...answers,
    {
      name: 'catching up with the days before',
      value: catchUpSeconds,
      unit: 's',
      detail: `${events.toLocaleString('en')} events`,
    },
  ]
  return rows.map((row) => ({ ...row, name: `${name}: ${row.name}` }))
}

interface Looked {
  readonly catchUpSeconds: number
  /** All that were delivered. */
  readonly events: number
  /** To the API, a second. */
  readonly requests: number
  readonly lagSeconds: number
  /** Of the first process. */
  readonly bytes: number
  readonly peakBytes: readonly number[]
  /** CPU time of each process, as a share of one core. */
  readonly shares: readonly number[]
  readonly answers: readonly Figure[]
}

/** Starts the processes of a fleet, waits until they have shipped the days before, and looks at them. */
function lookedAt(
  { name, zones: count, sinks, processes, state, everySeconds, atWork }: Fleet,
  folder: string,
  { tell }: FleetOptions,
  begins: () => Promise<void> = async () => undefined,
): Promise<Looked> {
  const zones = zonesOf(count)
  // Two or three pages a day at work, or one where the zones are so many that reading them takes long enough.
  const [before, ofToday] = atWork && count <= zonesAt30Seconds ? [600, 300] : [20, 20]
  const today = dayOf(Date.now())
  const listed = daysFrom(shiftDay(today, 1 - days), today).map((day) => [
    day,
    day === today ? ofToday : before,
  ])
  const working = atWork ? { latencyMs: 50, live: { ratePerSecond: 0.05 } } : {}
  return withSimulator({ zones, days: Object.fromEntries(listed), pageSize: 200, ...working }, (baseUrl) => {
    const config = {
      api: { baseUrl, accessKey: 'bench' },
      zones,
      poll: { everySeconds, firstRunDays: days },
      state,
      workers: { streams: Math.max(8, Math.ceil(count / 150)) },
      sinks: Array.from({ length: sinks }, (_, index) => {
        return { name: `archive-${index}`, type: 'file', path: join(folder, `events-${index}`) }
      }),
    }
    const started = async (daemons: readonly RunningDaemon[]): Promise<Looked> => {
      if (daemons.length === processes) {
        const expected = count * sinks * ((days - 1) * before + ofToday)
        const catchUpSeconds = await caughtUp(daemons, expected)
        tell(`${name}: caught up after ${catchUpSeconds.toFixed(0)} s`)
        await sleep(settledMs)
        await begins()
        return { catchUpSeconds, ...(await look(daemons, atWork ? atWorkMs : atRestMs)) }
      }
      const own = join(folder, `process-${daemons.length + 1}`)
      mkdirSync(own)
      return withDaemon(own, config, (daemon) => started([...daemons, daemon]))
    }
    return started([])
  })
}

const delivered = 'shieldlog_events_delivered_total'
const requested = 'shieldlog_api_requests_total'

/** Resolves to the seconds until so many events were delivered. */
async function caughtUp(daemons: readonly RunningDaemon[], expected: number): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const events = await sumOf(daemons, delivered)
    const tookMs = performance.now() - beganMs
    if (events >= expected) return tookMs / 1000
    if (tookMs > caughtUpWithinMs) throw new Error(`only ${events} of ${expected} events were shipped`)
    await sleep(1_000)
  }
}

async function sumOf(daemons: readonly RunningDaemon[], metric: string): Promise<number> {
  const sums = await Promise.all(daemons.map(async (daemon) => (await daemon.metrics()).sum(metric)))
  return sums.reduce((total, sum) => total + sum, 0)
}

const paths = ['/metrics', '/status', '/', '/readyz']

/** First without a question, then with questions to the first process, as a Prometheus asks but more often. */
async function look(
  daemons: readonly RunningDaemon[],
  quietMs: number,
): Promise<Omit<Looked, 'catchUpSeconds'>> {
  const first = daemons[0]!
  const requestsBefore = await sumOf(daemons, requested)
  const usedBefore = daemons.map((daemon) => daemon.usage().cpuSeconds)
  const beganMs = performance.now()
  await sleep(quietMs)
  const seconds = (performance.now() - beganMs) / 1000
  const shares = daemons.map((daemon, at) => (daemon.usage().cpuSeconds - usedBefore[at]!) / seconds)
  const requests = ((await sumOf(daemons, requested)) - requestsBefore) / seconds
  const { bytes } = first.usage()
  const answers = paths.map((path) => ({ path, ms: [] as number[], cpuMs: [] as number[], bytes: 0 }))
  let lagSeconds = 0
  for (let round = 0; round < rounds; round++)
    for (const answer of answers) {
      await sleep(betweenMs)
      const used = first.usage().cpuSeconds
      const { ms, text } = await first.ask(answer.path)
      answer.cpuMs.push((first.usage().cpuSeconds - used) * 1000)
      answer.ms.push(ms)
      answer.bytes = Buffer.byteLength(text)
      if (answer.path !== '/metrics') continue
      const metrics = readMetrics(text)
      lagSeconds = Math.max(lagSeconds, ...metrics.values('shieldlog_zone_lag_seconds'))
    }
  return {
    events: await sumOf(daemons, delivered),
    requests,
    lagSeconds,
    bytes,
    peakBytes: daemons.map((daemon) => daemon.usage().peakBytes),
    shares,
    answers: answers.map(({ path, ms, cpuMs, bytes: size }) => ({
      name: path,
      ...ofRounds(ms),
      unit: 'ms',
      limit: { atMost: answersWithinMs },
      detail: `${median(cpuMs).toFixed(0)} ms of CPU, ${(size / 1e6).toFixed(2)} MB`,
    })),
  }
}
