import { hostname } from 'node:os'
import type { Config, SinkConfig } from '../../config/schema/schema.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import type { WorkerStatus } from '../../domain/plan/status.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { within } from '../../domain/within.ts'
import { checkApi, type ApiChecked, type ZoneProblem, type ZoneRead } from '../../maintenance/read/check.ts'
import type { Clock } from '../../ports/clock.ts'
import { probePort } from '../../server/probe-port.ts'
import { connectSteps, type ConnectStep } from '../../transport/connect-steps.ts'
import { createQuietGround, zonesOf } from '../quiet-ground.ts'
import { createReading } from '../reading.ts'
import { probeStore, workersOn } from '../state.ts'
import { checkSink, type SinkTried } from './check-sink.ts'

export type { ApiChecked, ConnectStep, SinkTried, ZoneProblem, ZoneRead }

/** Why a step failed, or what it found. */
export type Tried =
  { readonly isWell: true; readonly found?: string } | { readonly isWell: false; readonly why: string }

export interface ApiTried extends ApiChecked {
  /** Present where no connection was possible. */
  readonly steps?: readonly ConnectStep[]
}

/** All tries, begun together; each settles within its bound. None rejects but for `cancelled` and bugs. */
export interface Checks {
  readonly api: Promise<ApiTried>
  readonly state: Promise<Tried>
  readonly port: Promise<Tried>
  readonly sinks: readonly { readonly sink: SinkConfig; readonly tried: Promise<SinkTried> }[]
  /** The process of this host that ships on the state now, and so has the port. */
  readonly worker: Promise<WorkerStatus | undefined>
  close(): Promise<void>
}

const stateMs = 15_000
const portMs = 5_000
const unconnected = ['network', 'tls', 'timeout']

/** Tries what a run will do. Leaves nothing behind but a test event, where that is asked for. */
export function startChecks(config: Config, sendTest: boolean, signal: AbortSignal): Checks {
  const ground = createQuietGround()
  const { clock } = ground
  const reading = createReading(config, ground)
  const zones = zonesOf(config)
  const state = tried(stateMs, clock, () => probeStore(config, clock))
  const api = checkApi({ source: reading.source, zones, today: todayOf(clock.now()), clock }, signal)
  const { host, port } = config.server
  const checks = {
    api: api.then(async (checked) => withSteps(checked, config, clock)),
    state,
    port: tried(portMs, clock, () => probePort(host, port)),
    sinks: config.sinks.map((sink) => ({
      sink,
      tried: checkSink(sink, { ground, zones, sendTest }, signal),
    })),
    worker: state.then(async ({ isWell }) => (isWell ? workerHere(config, clock) : undefined)),
  }
  // The command awaits them one after the other: an early one that rejects must not end the process.
  for (const promise of [checks.api, checks.worker, ...checks.sinks.map((each) => each.tried)])
    promise.catch(() => undefined)
  return { ...checks, close: () => reading.close() }
}

async function withSteps(checked: ApiChecked, { api }: Config, clock: Clock): Promise<ApiTried> {
  const isUnconnected = checked.problems.some(({ failure }) => unconnected.includes(failure.code))
  if (checked.read.length > 0 || !isUnconnected) return checked
  return { ...checked, steps: await connectSteps(new URL(api.baseUrl), api.tls, clock) }
}

async function workerHere(config: Config, clock: Clock): Promise<WorkerStatus | undefined> {
  const answer = await within(stateMs, workersOn(config, clock), clock).catch(() => 'late' as const)
  return answer === 'late' ? undefined : answer.value.find(({ host }) => host === hostname())
}

async function tried(ms: number, clock: Clock, work: () => Promise<void>): Promise<Tried> {
  try {
    const done = await within(ms, Promise.resolve().then(work), clock)
    return done === 'late' ? { isWell: false, why: `no answer within ${ms / 1000} s` } : { isWell: true }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { isWell: false, why: messageOf(error) }
  }
}
