import { Failure } from '../../domain/failure.ts'
import { isReadable } from '../../domain/plan/stream-state.ts'
import type { AnySink } from '../../ports/delivery.ts'
import type { Store } from '../../ports/store.ts'
import { targetOf } from '../../pump/open-sink.ts'
import type { PumpDeps, Session } from '../../pump/session.ts'
import { holdStream } from '../../days/hold-stream.ts'

/**
 * Moves a sink's checkpoints, gaps and dead letters to another name. `sink` is a file sink under its old name: first it
 * goes back to its committed lengths, since under the new name no pump would know lines of a killed process as the sink's
 * own, and their events would be written twice. What was only planned under the new name is dropped. Returns how many
 * streams were moved. Throws Failure.
 */
export async function renameSink(
  { from, to, sink }: { readonly from: string; readonly to: string; readonly sink: AnySink | undefined },
  deps: PumpDeps,
  signal: AbortSignal,
): Promise<number> {
  const { store } = deps
  await refuseDelivered(from, to, store)
  for (const { stream } of await store.catalogue.checkpoints()) {
    if (stream.sink !== from) continue
    const zone = { id: stream.zone, name: String(stream.zone), account: '' }
    // Also where it has no files: this waits for a process that died and still holds the stream.
    const reconcile = async (session: Session) => {
      // A day that can no longer be read is not shipped again, so nothing can be written twice.
      if (sink === undefined || !isReadable(stream.day, session.now(), deps.policy)) return
      await using target = targetOf(session, sink, signal)
      await target.open()
    }
    await holdStream({ stream, zone }, deps, reconcile, signal)
  }
  return store.upkeep.renameSink(from, to)
}

/** What the store has under the new name is dropped: throws where anything was delivered under it. */
async function refuseDelivered(from: string, to: string, store: Store): Promise<void> {
  const waiting = (await store.deadLetters.counts()).some(({ sink }) => sink === to)
  const isUsed = (await store.catalogue.checkpoints()).some(
    ({ stream, counters: { delivered, deadLetters }, committed }) =>
      stream.sink === to && delivered + deadLetters + committed.length > 0,
  )
  if (!isUsed && !waiting) return
  const what = waiting ? 'dead letters of it wait in the state' : 'events were delivered under it'
  const back = `give the sink its old name ${from} again in the configuration, and it goes on where it stopped`
  const text = `the sink name ${to} is taken (${what}): ${back}; or choose a name that was never used`
  throw new Failure('refuse', 'store_refuses', text)
}
