import { Failure } from '../../domain/failure.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import type { Policy } from '../../domain/policy.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Holder, Store } from '../../ports/store.ts'
import type { AnySink } from '../../ports/delivery.ts'
import { retryWhileHeld } from '../../domain/retry.ts'

interface RenameDeps {
  readonly store: Store
  readonly clock: Clock
  readonly policy: Pick<Policy, 'readableDays'>
  /** With the schedule lock: no other process starts a pump meanwhile, and no wait for a dead one. */
  readonly holder: Holder
  /** The sink under its old name, where it keeps committed lengths. */
  readonly sink: AnySink | undefined
}

/** Names of sinks that the store has data of. */
export async function knownSinks(store: Store): Promise<string[]> {
  const [routes, checkpoints, deadLetters] = await Promise.all([
    store.catalogue.routes(),
    store.catalogue.checkpoints(),
    store.deadLetters.counts(),
  ])
  const names = [
    ...routes.map(({ sink }) => sink),
    ...checkpoints.map(({ stream }) => stream.sink),
    ...deadLetters.map(({ sink }) => sink),
  ]
  return [...new Set(names)].sort()
}

const patienceMs = 30_000

/**
 * Moves a sink's checkpoints, gaps and dead letters to another name. First reconciles the sink with its committed
 * lengths: under the new name no pump would know lines of a killed process as the sink's own, and their events would be
 * written twice. What was only planned under the new name is dropped. Returns how many streams were moved. Throws
 * Failure.
 */
export async function renameSink(
  from: string,
  to: string,
  deps: RenameDeps,
  signal: AbortSignal,
): Promise<number> {
  await refuseDelivered(from, to, deps.store)
  for (const { stream } of await deps.store.catalogue.checkpoints()) {
    if (stream.sink === from) await reconcileStream(stream, deps, signal)
  }
  return deps.store.upkeep.renameSink(from, to)
}

/** What the store has under the new name is dropped: throws where anything was delivered under it. */
async function refuseDelivered(from: string, to: string, store: Store): Promise<void> {
  const own = (await store.catalogue.checkpoints()).filter(({ stream }) => stream.sink === to)
  const waiting = (await store.deadLetters.counts()).some(({ sink }) => sink === to)
  let events = 0
  for (const { counters, committed } of own)
    events += Math.max(counters.delivered + counters.deadLetters, committed.length)
  if (events === 0 && !waiting) return
  const what = waiting ? 'dead letters of it wait in the store' : 'events were delivered under it'
  const back = `give the sink its old name ${from} again in the configuration, and it goes on where it stopped`
  const text = `the sink name ${to} is taken (${what}): ${back}; or choose a name that was never used`
  throw new Failure('refuse', 'store_refuses', text)
}

/** Reconciles one stream. Also releases it where a process that died still holds it. */
async function reconcileStream(
  stream: Stream,
  { store, clock, policy, holder, sink }: RenameDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fence, checkpoint, storeId } = await retryWhileHeld(
    () => store.ledger.take(stream, holder),
    { clock, patienceMs },
    signal,
  )
  try {
    // A day that can no longer be read is not shipped again, so nothing can be written twice.
    if (sink === undefined || !('reconcile' in sink)) return
    if (!isReadable(stream.day, clock.now(), policy)) return
    const known = {
      storeId,
      committed: checkpoint?.committed ?? [],
      async confirm() {
        if (await store.ledger.holds(stream, fence)) return
        throw new Failure('cancelled', 'fence_lost', 'another process took over the stream')
      },
    }
    const open = await sink.reconcile(stream, known, signal)
    await open.close()
  } finally {
    await store.ledger.release(stream, fence).catch(() => undefined)
  }
}
