import { Failure } from '../../domain/failure.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import type { Policy } from '../../domain/plan/policy.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Holder } from '../../ports/ledger.ts'
import type { Store } from '../../ports/store.ts'
import type { AnySink } from '../../ports/sink.ts'
import { patiently } from '../retry-while-held.ts'

export interface RenameDeps {
  readonly store: Store
  readonly clock: Clock
  readonly policy: Pick<Policy, 'readableDays'>
  /** With the schedule lock, so that nobody else starts a pump meanwhile and no dead one is waited for. */
  readonly holder: Holder
  /** The sink under its old name, where it keeps committed lengths. */
  readonly sink: AnySink | undefined
}

/** Names that the store has anything of. */
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
 * Moves a sink's checkpoints, gaps and dead letters to another name. What a killed process left behind in the sink
 * beyond its committed lengths is taken back first: under the new name nobody could tell that it is the sink's own, and
 * its events would stand twice. Returns how many streams were moved. Throws Failure.
 */
export async function renameSink(
  from: string,
  to: string,
  deps: RenameDeps,
  signal: AbortSignal,
): Promise<number> {
  for (const { stream } of await deps.store.catalogue.checkpoints()) {
    if (stream.sink === from) await settle(stream, deps, signal)
  }
  return deps.store.upkeep.renameSink(from, to)
}

/** Also lets go of the stream in the name of a predecessor that died. */
async function settle(
  stream: Stream,
  { store, clock, policy, holder, sink }: RenameDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fence, checkpoint, storeId } = await patiently(
    () => store.ledger.take(stream, holder),
    { clock, patienceMs },
    signal,
  )
  try {
    // Of a day that can no longer be read nothing comes again, so nothing can stand twice.
    if (sink === undefined || !('reconcile' in sink)) return
    if (!isReadable(stream.day, clock.now(), policy)) return
    const known = {
      storeId,
      committed: checkpoint?.committed ?? [],
      async confirm() {
        if (await store.ledger.holds(stream, fence)) return
        throw new Failure('cancelled', 'fence_lost', 'another process took the stream over')
      },
    }
    const open = await sink.reconcile(stream, known, signal)
    await open.close()
  } finally {
    await store.ledger.release(stream, fence).catch(() => undefined)
  }
}
