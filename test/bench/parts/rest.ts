import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/clock.ts'
import { dayMs, dayOf, daysFrom, shiftDay, startOf } from '../../../src/domain/day.ts'
import type { Store } from '../../../src/ports/store.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import { simulatedEvents } from '../cost/costs.ts'
import { median, ofRounds, type Figure } from '../figures/figure.ts'
import { profileFlags, type NodeFlags } from '../processes/child.ts'
import { readMetrics, withDaemon, type RunningDaemon } from '../processes/daemon.ts'
import { withFolder, zonesOf } from '../processes/runs.ts'
import { createPump, hourly } from './pumped.ts'

export interface RestOptions {
  /** Fleets of so many zones each. */
  readonly zones: readonly number[]
  readonly sinks: number
  readonly rounds: number
  readonly profileFolder?: string | undefined
  readonly tell: (line: string) => void
}

/** A fleet at rest after its start. */
const settledMs = 10_000
/** Of looking at its CPU, without a question. */
const quietMs = 10_000
/** Longer than any answer is kept. */
const betweenMs = 3_200
const answersWithinMs = 200
const eventsOfDay = 20
const paths = ['/metrics', '/status', '/status?view=map', '/readyz']

interface Rest {
  readonly bytes: number
  readonly storeBytes: number
  readonly cpuShare: number
  /** By path; CPU is that of the process during each answer. */
  readonly answers: ReadonlyMap<
    string,
    { readonly ms: number[]; readonly cpuMs: number[]; readonly bytes: number }
  >
  /** The longest time without a turn of the event loop, of each round of questions. */
  readonly blockedMs: readonly number[]
}

/** What streams cost that have nothing to ship: memory, store, planning, and the answers of the server. */
export async function measureRest({
  zones: counts,
  sinks,
  rounds,
  profileFolder,
  tell,
}: RestOptions): Promise<Figure[]> {
  const alone = await atRest({ zones: 1, sinks: 1, rounds: 1, flags: [] })
  const figures: Figure[] = []
  for (const zones of counts) {
    const flags = profileFlags(profileFolder, `rest-${zones}`)
    const rest = await atRest({ zones, sinks, rounds, flags })
    tell(`at rest: ${zones} zones, ${(rest.bytes / 1e6).toFixed(0)} MB`)
    figures.push(
      ...figuresOf(`${zones} zones, ${sinks} sinks`, rest, alone, zones * sinks * hourly.readableDays),
    )
  }
  return figures
}

function figuresOf(name: string, rest: Rest, alone: Rest, streams: number): Figure[] {
  return [
    {
      name: `${name}: RSS at rest`,
      value: rest.bytes / 1e6,
      unit: 'MB',
      detail: `${((rest.bytes - alone.bytes) / streams / 1000).toFixed(1)} kB a stream more than with one zone`,
    },
    { name: `${name}: store`, value: rest.storeBytes / streams, unit: 'bytes a stream' },
    { name: `${name}: CPU at rest, share of one core`, value: rest.cpuShare, unit: '' },
    ...[...rest.answers].map(([path, { ms, cpuMs, bytes }]): Figure => ({
      name: `${name}: ${path}`,
      ...ofRounds(ms),
      unit: 'ms',
      limit: { atMost: answersWithinMs },
      detail: `${median(cpuMs).toFixed(0)} ms of CPU, ${(bytes / 1e6).toFixed(2)} MB`,
    })),
    { name: `${name}: longest block of the event loop`, ...ofRounds(rest.blockedMs), unit: 'ms' },
  ]
}

function atRest(of: { zones: number; sinks: number; rounds: number; flags: NodeFlags }): Promise<Rest> {
  const zones = zonesOf(of.zones)
  const sinks = Array.from({ length: of.sinks }, (_, index) => `sink-${index + 1}`)
  return withFolder(async (folder) => {
    const path = join(folder, 'state.db')
    const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1 })
    await seed(store, zones, sinks)
    await store.close()
    const config = {
      api: { baseUrl: 'http://127.0.0.1:1', accessKey: 'bench' },
      zones,
      poll: { everySeconds: 3_600 },
      state: `sqlite:${path}`,
      sinks: sinks.map((name) => ({ name, type: 'http', url: 'http://127.0.0.1:1' })),
    }
    const storeBytes = statSync(path).size
    return withDaemon(folder, config, of.flags, async (daemon) => ({
      storeBytes,
      ...(await looked(daemon, of.rounds)),
    }))
  })
}

/** Pumps every stream of a fleet once, as a first run does. */
async function seed(store: Store, zones: readonly number[], sinks: readonly string[]): Promise<void> {
  const today = dayOf(Date.now())
  const days = daysFrom(shiftDay(today, 1 - hourly.readableDays), today)
  const pump = createPump(store, hourly, (day) => {
    const beganMs = startOf(day)
    const stepMs = (Math.min(Date.now(), beganMs + dayMs) - beganMs) / eventsOfDay
    return simulatedEvents(eventsOfDay, (index) => beganMs + index * stepMs)
  })
  for (const zone of zones)
    await Promise.all(sinks.flatMap((sink) => days.map((day) => pump({ zone, day, sink }))))
}

async function looked(daemon: RunningDaemon, rounds: number): Promise<Omit<Rest, 'storeBytes'>> {
  await sleep(settledMs)
  const before = daemon.usage()
  await sleep(quietMs)
  const after = daemon.usage()
  const answers = new Map(
    paths.map((path) => [path, { ms: [] as number[], cpuMs: [] as number[], bytes: 0 }]),
  )
  const blockedMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (const path of paths) {
      await sleep(betweenMs)
      const usedBefore = daemon.usage().cpuSeconds
      const { ms, text } = await daemon.ask(path)
      const answer = answers.get(path)!
      answer.cpuMs.push((daemon.usage().cpuSeconds - usedBefore) * 1000)
      answer.ms.push(ms)
      answer.bytes = Buffer.byteLength(text)
      // The library forgets the longest block with each scrape.
      if (path === '/metrics' && round > 0)
        blockedMs.push(Math.max(...readMetrics(text).values('nodejs_eventloop_lag_max_seconds')) * 1000)
    }
  }
  return {
    bytes: after.bytes,
    cpuShare: (after.cpuSeconds - before.cpuSeconds) / (quietMs / 1000),
    answers,
    blockedMs,
  }
}
