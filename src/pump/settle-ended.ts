import { noTrust } from '../domain/trust.ts'
import type { Zone } from '../domain/stream.ts'
import type { Sink } from '../ports.ts'
import { settleStream } from './pump-stream.ts'
import type { PumpDeps } from './session.ts'

export interface SettleDeps extends PumpDeps {
  readonly zones: readonly Zone[]
  readonly sinks: ReadonlyMap<string, Sink>
}

/**
 * Streams that have ended are pumped no more, so nobody would account for what a killed process left of them in a sink
 * beyond the last commit. Torn lines go; whole ones stay and become seen, since nobody reads them again.
 */
export async function settleEnded(deps: SettleDeps, signal: AbortSignal): Promise<void> {
  for (const { stream, ended, receipts } of await deps.store.list()) {
    if (signal.aborted) return
    const zone = deps.zones.find(({ id }) => id === stream.zone)
    const sink = deps.sinks.get(stream.sink)
    if (ended === undefined || zone === undefined || sink?.holdsMore === undefined) continue
    if (!(await sink.holdsMore(stream, { storeId: deps.store.id, receipts }))) continue
    const mayGoOn = () => false
    await settleStream({ stream, zone, sink, lane: 'live', trust: noTrust, mayGoOn }, deps, signal)
  }
}
