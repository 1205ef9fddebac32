import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import { createInTurn, orAborted } from '../../domain/promises.ts'
import type { OpenStream, Sink, SinkCheck } from '../../ports/delivery.ts'
import { deliverTrial, type Lake, StreamObjects } from './stream-objects.ts'
import type { ObjectStore } from './store.ts'

/** More than a load has elsewhere: an object should be as large as `maxBytes` allows. */
const mostEvents = 40_000

/**
 * Writes each delivery as one object of the next number, only where no object has that number. One that is there
 * already was written by an earlier try: its events are adopted. So each event lies in one object, whoever writes.
 * `tryStore` finds out whether the store does what that needs.
 */
export function createObjectSink(
  lake: Lake & { readonly store: Pick<ObjectStore, 'close'> },
  tryStore: (signal: AbortSignal) => Promise<SinkCheck | undefined>,
): Sink {
  const { settings, store } = lake
  const inTurn = createInTurn()
  let isClosed = false
  let isTried = settings.guarantee === 'at-least-once'

  async function check(signal: AbortSignal) {
    const found = await tryStore(signal)
    isTried = true
    return found
  }

  const checkOnce = async (signal: AbortSignal) => {
    if (!isTried && !signal.aborted) await check(signal)
  }

  return {
    name: settings.name,
    address: store.address,
    load: { bytes: settings.maxBytes, events: mostEvents },
    async open(stream, { objects }) {
      const own = objects && new StreamObjects(lake, stream, objects)
      const work = async (events: readonly Event[], signal: AbortSignal) => {
        if (isClosed || signal.aborted) throw cancelled(signal.reason)
        // Before the first object of the process.
        if (!isTried) await inTurn(() => checkOnce(signal))
        return await (own === undefined ? deliverTrial(lake, events, signal) : own.deliver(events, signal))
      }
      return {
        deliver: (events, signal) => orAborted(work(events, signal), signal),
        close: () => Promise.resolve(),
      } satisfies OpenStream
    },
    check,
    async close() {
      isClosed = true
      await store.close()
    },
  }
}
