import type { Config, SinkConfig } from '../config/schema.ts'
import { Failure } from '../domain/failure.ts'
import { knownSinks, renameSink } from '../maintenance/housekeeping/rename-sink.ts'
import { hasPlace, heldSinks, rememberSinks, type HeldSinks } from './held-sinks.ts'
import { createHolder } from './quiet-runtime.ts'
import { createRuntime } from './runtime.ts'
import { openSink } from './shipping.ts'
import { stateName, createLock } from './state.ts'
import { openWork } from './work.ts'

type Renamed =
  | { readonly outcome: 'renamed'; readonly streams: number }
  | { readonly outcome: 'unknown'; readonly known: readonly string[] }

/** Moves the store's records of a sink to another name, while no `run` works on it. Throws Failure. */
export async function renameSinkInStore(
  config: Config,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<Renamed> {
  const runtime = createRuntime(config, { logLevel: 'warn' })
  const { clock } = runtime
  await using work = await openWork(config, { store: 'existing', runtime }, signal)
  const { store, hasStore } = work
  if (!hasStore)
    throw new Failure('stop', 'store_refuses', `there is no store at ${stateName(config)}: nothing to rename`)
  await using parts = new AsyncDisposableStack()
  const lock = parts.adopt(createLock(config, store, clock), (each) => each.release())
  const locked = await lock.acquire()
  if (!locked.ok) {
    const why = `another shieldlog runs on this state: ${locked.holder}`
    throw new Failure('wait', 'held', `${why}; stop it first, or it would continue under the old name`)
  }
  const known = await knownSinks(store)
  if (!known.includes(from)) return { outcome: 'unknown', known }
  const sinkConfig = fileSinkOf(config, from, to)
  const sink = sinkConfig && openSink({ ...sinkConfig, name: from }, runtime)
  parts.defer(() => sink?.close())
  // With the schedule lock no other process starts a pump meanwhile, and there is no wait for a dead one.
  const { deps } = await work.shipping({ delivers: false, holder: createHolder(true) })
  return { outcome: 'renamed', streams: await renameSink({ from, to, sink }, deps, signal) }
}

/**
 * Stores that a sink of the configuration is a new one, also where it looks like another under a new name. Throws
 * Failure.
 */
export async function acceptNewSink(
  config: Config,
  sink: SinkConfig,
  signal: AbortSignal,
): Promise<HeldSinks> {
  if (!hasPlace(sink)) {
    const what = `the address of sink ${sink.name} is not known here`
    throw new Failure(
      'refuse',
      'rejected',
      `${what}: set the variables, or make readable the files, that it uses`,
    )
  }
  await using work = await openWork(config, { store: 'created' }, signal)
  const held = await heldSinks(config, work.store)
  // Only another path helps a file sink. Nothing is stored of it, so that its remedy keeps naming the old sink.
  if (sink.type === 'file' && held.has(sink.name)) return held
  await rememberSinks({ sinks: [sink] }, work.store)
  return await heldSinks({ sinks: [sink] }, work.store)
}

/** The configuration may still name the sink by its old name, or already by the new one. */
function fileSinkOf({ sinks }: Config, from: string, to: string): SinkConfig | undefined {
  const files = sinks.filter(({ type }) => type === 'file')
  return files.find(({ name }) => name === from) ?? files.find(({ name }) => name === to)
}
