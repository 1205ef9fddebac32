import { systemClock } from '../clock.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import { Failure } from '../domain/failure.ts'
import { knownSinks, renameSink } from '../maintenance/housekeeping/rename-sink.ts'
import { hasPlace, heldSinks, rememberSinks, type HeldSinks } from './held-sinks.ts'
import { policyOf } from '../config/planned.ts'
import { createHolder } from './quiet-runtime.ts'
import { createRuntime } from './runtime.ts'
import { openSink } from './shipping.ts'
import { openExistingStore, stateName, createLock, openStore } from './state.ts'

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
  const store = await openExistingStore(config, clock)
  if (store === undefined)
    throw new Failure('stop', 'store_refuses', `there is no store at ${stateName(config)}: nothing to rename`)
  const lock = createLock(config, clock)
  const sinkConfig = fileSinkOf(config, from, to)
  const sink = sinkConfig === undefined ? undefined : openSink({ ...sinkConfig, name: from }, runtime)
  try {
    const locked = await lock.acquire()
    if (!locked.ok) {
      const why = `another shieldlog runs on this state: ${locked.holder}`
      throw new Failure('wait', 'held', `${why}; stop it first, or it would continue under the old name`)
    }
    const known = await knownSinks(store)
    if (!known.includes(from)) return { outcome: 'unknown', known }
    const deps = { store, clock, policy: policyOf(config), holder: createHolder(true), sink }
    return { outcome: 'renamed', streams: await renameSink(from, to, deps, signal) }
  } finally {
    await sink?.close()
    await lock.release()
    await store.close()
  }
}

/**
 * Stores that a sink of the configuration is a new one, also where it looks like another under a new name. Throws
 * Failure.
 */
export async function acceptNewSink(config: Config, sink: SinkConfig): Promise<HeldSinks> {
  if (!hasPlace(sink)) {
    const what = `the address of sink ${sink.name} is not known here`
    throw new Failure(
      'refuse',
      'rejected',
      `${what}: set the variables, or make readable the files, that it uses`,
    )
  }
  const store = await openStore(config, systemClock)
  try {
    const held = await heldSinks(config, store)
    // Only another path helps a file sink. Nothing is stored of it, so that its remedy keeps naming the old sink.
    if (sink.type === 'file' && held.has(sink.name)) return held
    await rememberSinks({ sinks: [sink] }, store)
    return await heldSinks({ sinks: [sink] }, store)
  } finally {
    await store.close()
  }
}

/** The configuration may still name the sink by its old name, or already by the new one. */
function fileSinkOf({ sinks }: Config, from: string, to: string): SinkConfig | undefined {
  const files = sinks.filter(({ type }) => type === 'file')
  return files.find(({ name }) => name === from) ?? files.find(({ name }) => name === to)
}
