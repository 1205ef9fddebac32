import { hostname } from 'node:os'
import type { Loaded } from '../../config/load.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { orAborted, withDeadline } from '../../domain/promises.ts'
import { counted, printable } from '../../domain/text/terminal-text.ts'
import type { WorkerStatus } from '../../ports/store.ts'
import { authority, probePort } from '../../server/listen.ts'
import { heldSinks, type HeldSinks } from '../../assemble/held-sinks.ts'
import { embeddedWorkers, probeStore, stateName, workersOn } from '../../assemble/state.ts'
import { blindSinks, foreignParts } from '../../assemble/other-state.ts'
import type { ForeignParts } from '../../domain/problem.ts'
import { idleMsOf, idleText } from '../../domain/problem.ts'
import type { Route } from '../../domain/stream.ts'
import { foreignText, newStateText } from '../../status/problems.ts'
import { openWork, type Work } from '../../assemble/work.ts'
import { type StepResult, fail, isFail, note, ok } from './result.ts'
import { type Attempt, sinkFindings, sinkStep } from './sinks.ts'
import { checkApi } from './api.ts'

export interface CheckOptions {
  /** Tries nothing: only the configuration is checked. */
  readonly offline?: boolean
  readonly sendTest?: boolean
  readonly json?: boolean
}

/**
 * Tries what a run will do, and leaves nothing behind but a test event, where that is asked for. Each try has a bound; the
 * sinks are tried together, after the state, which removes the folders that it has made: a file sink may have its own in
 * one of them. Throws only `cancelled`, and bugs.
 */
export async function* check(
  loaded: Loaded,
  { offline = false, sendTest = false }: CheckOptions,
  signal: AbortSignal,
): AsyncGenerator<StepResult> {
  yield* configurationFindings(loaded)
  if (offline) return
  await using work = await openWork(loaded.config, {}, signal)
  const { config, runtime } = work
  /** A Failure is a result, and so is the end of the time; only a stop that was asked for is thrown. */
  const attempt: Attempt = async (step, ms, doing) => {
    try {
      const bounded = (limited: AbortSignal) => orAborted(doing(limited), limited)
      return await withDeadline(ms, signal, runtime.clock, bounded)
    } catch (error) {
      if (signal.aborted || !isFailure(error)) throw error
      return [fail(step, error.code === 'cancelled' ? `no answer within ${ms / 1000} s` : messageOf(error))]
    }
  }

  const { findings, filters } = await checkApi(work, signal)
  yield* findings
  const state = await attempt('state', stateMs, () => stateFindings(work))
  yield* state
  let running: WorkerStatus | undefined
  let held: HeldSinks = new Map()
  let foreign: readonly ForeignParts[] = []
  let known: readonly Route[] = []
  const runsHere = ({ host }: WorkerStatus) => host === hostname()
  // Where what is asked of the state does not answer, the check of a folder names it.
  if (state.some(isFail))
    await attempt('state', stateMs, async () => {
      running = (await embeddedWorkers(config, runtime.clock)).find(runsHere)
      return []
    })
  else
    await attempt('state', stateMs, async () => {
      await using stored = await openWork(config, { store: 'existing' }, signal)
      running = (await workersOn(config, stored.store, runtime.clock)).find(runsHere)
      if (stored.hasStore) held = await heldSinks(config, stored.store)
      foreign = await foreignParts(config, stored.store.id, runtime.clock)
      if (stored.hasStore) known = await stored.store.catalogue.routes()
      return []
    })
  if (running !== undefined) yield note(`in use by ${running.name}`)
  const blind = blindSinks(config).filter((sink) => !held.has(sink))
  const idleMs = idleMsOf(known, runtime.clock.now())
  if (known.length === 0 && blind.length > 0) yield note(newStateNote(config, blind))
  if (idleMs !== undefined) yield note(idleText(idleMs))
  for (const each of foreign) yield { ...note(foreignText(each)), command: 'audit --deep' }

  const { host, port } = config.server
  const [listening] = await attempt('port', portMs, async () => {
    await probePort(host, port)
    return [ok('port', port === 0 ? 'any free one' : authority(host, port))]
  })
  const isItsOwn = running !== undefined && listening!.text.includes('in use')
  yield isItsOwn ? note(`${authority(host, port)} is in use by ${running!.name}`, 'port') : listening!

  const sinks = config.sinks.map(async (settings) => {
    const why = held.get(settings.name)
    const found =
      why === undefined
        ? await sinkFindings(settings, work, sendTest, attempt)
        : [fail(sinkStep(settings), printable(why, 1_000))]
    return [...found, ...(filters.get(settings.name) ?? [])]
  })
  // They are awaited one after the other: an early one that rejects must not end the process.
  for (const sink of sinks) sink.catch(() => undefined)
  for (const sink of sinks) yield* await sink
}

function newStateNote({ accounts, zones, poll }: Loaded['config'], sinks: readonly string[]): string {
  // Those that the API lists are not counted here.
  const known = accounts.some(({ discovery }) => discovery !== undefined) ? 0 : zones.length
  return `the state is new: run ${newStateText(poll.firstRunDays, known, sinks)}; if one was lost, events of these days will be there twice`
}

const stateMs = 15_000

const portMs = 5_000

function configurationFindings({ config, file, overridden, warnings, exposed }: Loaded): StepResult[] {
  const { accounts, sinks } = config
  const named = config.zones.length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  const zones = [
    ...(named > 0 || all.length === 0 ? [counted(named, 'zone')] : []),
    ...(all.length === 0 ? [] : [`all zones of account ${all.join(', ')}`]),
  ]
  const found = [...zones, counted(sinks.length, 'sink')].join(', ')
  const notes = [...overridden, ...warnings, ...exposed].map((each) => note(each))
  return [ok('configuration', `${file ?? 'the environment'}; ${found}`), ...notes]
}

async function stateFindings({ config, runtime }: Work): Promise<StepResult[]> {
  const warnings: StepResult[] = []
  await probeStore(config, runtime.clock, {
    emit: (internalEvent) => {
      if (internalEvent.name === 'Warned') warnings.push(note(internalEvent.text))
    },
  })
  return [ok('state', `${stateName(config)}, opened for writing`), ...warnings]
}
