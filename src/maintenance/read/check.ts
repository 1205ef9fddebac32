import type { Day } from '../../domain/day.ts'
import { isFailure, messageOf, type Failure, type FailureCode } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Source } from '../../ports/source.ts'
import type { AnySink } from '../../ports/sink.ts'

export interface CheckDeps {
  readonly source: Source
  readonly zones: readonly Zone[]
  /** The day whose first page is requested. */
  readonly today: Day
  readonly sinks: readonly AnySink[]
  /** Throws Failure when the state could not be written. */
  checkState(): Promise<void>
}

/** Zones of an account that fail for the same reason. */
export interface ZoneProblem {
  readonly account: string
  readonly failure: Failure
  readonly zones: readonly Zone[]
  /** How many zones were not read, since the reason concerns the whole account. */
  readonly notAsked: number
}

export interface Checked {
  readonly zoneProblems: readonly ZoneProblem[]
  readonly zonesWell: number
  readonly sinkProblems: readonly { readonly sink: AnySink; readonly message: string }[]
  readonly stateProblem: string | undefined
  /** The API's clock minus this host's, by account. */
  readonly clockOffsets: ReadonlyMap<string, number>
}

/** After this many failures of the whole account, and no answer, its other zones are not read. */
const enoughFailures = 3
const askedAtOnce = 8

const accountCodes: readonly FailureCode[] = [
  'unauthorised',
  'network',
  'tls',
  'timeout',
  'server_error',
  'throttled',
]

/** Checks all that a run needs, and leaves nothing behind. Throws only `cancelled`, and bugs. */
export async function checkAll(deps: CheckDeps, signal: AbortSignal): Promise<Checked> {
  const clockOffsets = new Map<string, number>()
  const accounts = Map.groupBy(deps.zones, ({ account }) => account)
  const [zoneProblems, sinkProblems, stateProblem] = await Promise.all([
    Promise.all([...accounts.values()].map((zones) => checkAccount(zones, deps, clockOffsets, signal))),
    Promise.all(
      deps.sinks.map(async (sink) => {
        const message = await problemOf(() => sink.check(signal), signal)
        return message === undefined ? [] : [{ sink, message }]
      }),
    ),
    problemOf(() => deps.checkState(), signal),
  ])
  const problems = zoneProblems.flat()
  let ill = 0
  for (const { zones, notAsked } of problems) ill += zones.length + notAsked
  return {
    zoneProblems: problems,
    zonesWell: deps.zones.length - ill,
    sinkProblems: sinkProblems.flat(),
    stateProblem,
    clockOffsets,
  }
}

async function checkAccount(
  zones: readonly Zone[],
  { source, today }: CheckDeps,
  clockOffsets: Map<string, number>,
  signal: AbortSignal,
): Promise<ZoneProblem[]> {
  const failures: { zone: Zone; failure: Failure }[] = []
  const waiting = [...zones]
  let answered = 0
  const isHopeless = () =>
    answered === 0 &&
    failures.filter(({ failure }) => accountCodes.includes(failure.code)).length >= enoughFailures

  async function work(): Promise<void> {
    for (let zone = waiting.shift(); zone !== undefined; zone = waiting.shift()) {
      try {
        const page = await source.fetchPage({ zone, day: today, cursor: null, priority: 'live' }, signal)
        page.release()
        answered++
        if (page.clockOffsetMs !== undefined) clockOffsets.set(zone.account, page.clockOffsetMs)
      } catch (error) {
        if (!isFailure(error) || error.kind === 'cancelled') throw error
        failures.push({ zone, failure: error })
      }
      if (isHopeless()) return
    }
  }

  await Promise.all(Array.from({ length: Math.min(askedAtOnce, zones.length) }, work))
  const groups = [...Map.groupBy(failures, ({ failure }) => failure.code).values()]
  return groups.map((group, index) => ({
    account: group[0]!.zone.account,
    failure: group[0]!.failure,
    zones: group.map(({ zone }) => zone),
    notAsked: index === 0 ? waiting.length : 0,
  }))
}

async function problemOf(ask: () => Promise<void>, signal: AbortSignal): Promise<string | undefined> {
  try {
    await ask()
    return undefined
  } catch (error) {
    if (signal.aborted || !isFailure(error)) throw error
    return messageOf(error)
  }
}
