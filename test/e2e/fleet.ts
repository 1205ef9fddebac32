import { expect } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import type { Status } from '../../src/status/fleet.ts'
import type { SimulatorOptions, SimulatorRequest } from '../../src/simulator/simulator.ts'
import { openRedisStore } from '../setup/stores.ts'
import { told } from '../tasks/backfill/backfilling.ts'
import type { TestProcess } from '../setup/processes.ts'
import { startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { stateAt } from '../state/redis/settings.ts'
import { probeOf, type Probe } from './metrics.ts'
import { paceOf } from './caught-up.ts'
import { compareFiles, countOf, exactly, type Comparison } from './shipped.ts'
import { readableDays, workplace, type Settings } from './workplace.ts'

export const fleetZones = [101, 102, 103, 104] as const

/** A process of the fleet. Its name is its access key too, so that the simulator sees who asks. */
export interface Member extends TestProcess {
  readonly name: string
  probe(): Promise<Probe>
}

export type Fleet = Awaited<ReturnType<typeof fleet>>

/** As the docs ask for it: a log that reaches the disk each second. */
const everySecond = ['--appendonly', 'yes', '--appendfsync', 'everysec']

/** Processes of any role over one Redis, one simulated API and one folder of files. */
export async function fleet({
  simulator,
  settings,
}: { readonly simulator?: SimulatorOptions; readonly settings?: Settings } = {}) {
  const redis = await startRedis({ args: everySecond })
  const { keyPrefix, url } = redis
  const place = await workplace(
    { zones: fleetZones, accessKey: null, ...simulator },
    {
      zones: fleetZones,
      state: { redis: { url, keyPrefix } },
      // More often only costs the machine: what is waited for does not come sooner.
      poll: { everySeconds: 1 },
      ...settings,
    },
  )
  const days = readableDays()
  const members: Member[] = []
  const start = (role: 'all' | 'scheduler' | 'worker', name: string): Member => {
    const child = place.start(['run', '--role', role], { env: { SHIELDLOG_API_ACCESS_KEY: name } })
    const member: Member = { ...child, name, probe: () => probeOf(child) }
    members.push(member)
    return member
  }
  return {
    place,
    redis,
    /** As they were when the fleet was made. */
    days,
    /** All that were started, dead ones too. */
    members,
    start,
    /** Resolves when all of them take jobs: streams that are queued from then on are shared between them. */
    async startWorkers(...names: readonly string[]) {
      const workers = names.map((name) => start('worker', name))
      for (const worker of workers) await worker.waitForLine(/"event":"Started"/)
      return workers
    },
    async checkpoints(): Promise<Checkpoint[]> {
      const telemetry = { emit: () => undefined }
      const state = stateAt(url, { keyPrefix })
      const limits = { deadLetterMaxBytes: 1, create: false }
      const store = await openRedisStore({ state, clock: systemClock, telemetry, ...limits })
      try {
        return await store.catalogue.checkpoints()
      } finally {
        await store.close()
      }
    },
    compare: () => compareFiles(place.events, place.simulator, fleetZones, days),
    whole: () => countOf(place.simulator, fleetZones, days),
  }
}

/** Who asked for a page; undefined for a request without a key. */
export function askedBy({ headers }: SimulatorRequest): string | undefined {
  return headers['accesskey'] as string | undefined
}

export function streamOf({ zone, day }: SimulatorRequest): string {
  return `${zone}/${day}`
}

/** Ends steady traffic, so that there is a whole that can be reached. */
export function endTraffic({ place }: Fleet): void {
  place.simulator.calm()
}

/** Each look reads the whole store, or all files. */
const everyMs = 1_000

/** Waits for what the fleet brings about, also while traffic goes on: such a wait has no progress to go by. */
export async function untilFleet<T>(fleet: Fleet, what: string, condition: () => T | Promise<T>) {
  return await waitFor(condition, { what: () => `${what}${said(fleet)}`, everyMs })
}

/** Waits for what steady work reaches, for as long as the fleet makes progress or says that it will. */
async function untilDone(fleet: Fleet, what: () => string, condition: () => boolean | Promise<boolean>) {
  await waitFor(condition, {
    what: () => `${what()}${said(fleet)}`,
    pace: async (sinceMs) => paceOf(fleet.place, await fleet.checkpoints(), sinceMs),
    everyMs,
  })
}

/** Waits until the store knows of every event that it was delivered. */
export async function untilCommitted(fleet: Fleet): Promise<void> {
  let delivered = 0
  await untilDone(
    fleet,
    () => `all events, with ${delivered} of ${fleet.whole()} delivered`,
    async () => {
      delivered = 0
      for (const { counters } of await fleet.checkpoints()) delivered += counters.delivered
      return delivered === fleet.whole()
    },
  )
}

/** Waits until each event stands once in the files, and the store knows of it. */
export async function untilWhole(fleet: Fleet): Promise<void> {
  await untilCommitted(fleet)
  let found: Comparison | undefined
  await untilDone(
    fleet,
    () => `each event once: ${JSON.stringify(found)}`,
    () => {
      found = fleet.compare()
      return found.lines === fleet.whole() && found.missing === 0 && found.repeated === 0
    },
  )
}

/** The last lines of every member's log. */
export function said({ members }: Pick<Fleet, 'members'>): string {
  return members.map(({ name, stderr }) => `\n--- ${name}\n${stderr().slice(-1_500)}`).join('')
}

/** Stops what runs as an operator would. */
export async function stopAll({ members }: Fleet): Promise<void> {
  const running = members.filter((member) => member.isRunning())
  const ends = await Promise.all(running.map((member) => member.kill('SIGTERM')))
  for (const [index, end] of ends.entries())
    expect(end, running[index]!.stderr()).toEqual({ code: 0, signal: null })
}

/** Files, `audit` and `status` agree with what the API has. To be asked when nothing runs any more. */
export async function expectWhole(fleet: Fleet): Promise<void> {
  const { place, days } = fleet
  expect(fleet.compare()).toEqual(exactly(fleet.whole()))
  for (const day of days) {
    const audit = await told(place, 'audit', '--zone', fleetZones.join(','), '--day', day)
    expect(audit.code, `${audit.stdout}${audit.stderr}`).toBe(0)
  }
  // One that was killed counts as alive for 20 s.
  const status = await waitFor(
    async () => {
      const { code, stdout, stderr } = await told(place, 'status', '--json')
      expect([0, 1], stderr).toContain(code)
      const read = JSON.parse(stdout) as Status
      return read.workers.length === 0 && read
    },
    { what: 'a status without workers', everyMs: 1_000 },
  )
  let delivered = 0
  for (const route of status.routes) for (const day of route.days) delivered += day.delivered
  expect(delivered).toBe(fleet.whole())
  expect(status.routes.flatMap(({ gaps }) => gaps)).toEqual([])
  expect(status.deadLetters).toEqual([])
}
