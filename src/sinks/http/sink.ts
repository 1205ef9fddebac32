import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import { streamKey } from '../../domain/stream.ts'
import type { OpenStream, Sink } from '../../ports/delivery.ts'
import { excerptOf } from './exchanges.ts'
import { cutBatches, Settled } from './bodies.ts'
import type { HttpSinkConfig } from './config.ts'
import { createPreset } from './presets/registry.ts'
import { createRequests, type HttpSinkDeps } from './requests.ts'
import { type Evidence, Tally, UnsettledBatch } from './settle.ts'

/**
 * Posts bodies of events to an HTTP endpoint, at least once: the same events give the same bytes and the same
 * `Idempotency-Key` on every try. A 2xx, interpreted by the preset, is the acknowledgement; where it is only a receipt,
 * its confirmation is. Batches of one delivery are sent in sequence and confirmed together, different streams in parallel. Throws Failure (stop) for an invalid proxy address.
 */
export function createHttpSink(settings: HttpSinkConfig, deps: HttpSinkDeps): Sink {
  const { format, clock } = deps
  const preset = createPreset(settings, format)
  const requests = createRequests(settings, preset, deps)
  const tally = new Tally()
  let closing: Promise<void> | undefined

  async function deliver(
    events: readonly Event[],
    evidence: Evidence,
    ageNow: () => number | undefined,
    signal: AbortSignal,
    goesOn: boolean,
  ): Promise<Delivery> {
    if (closing !== undefined || signal.aborted) throw cancelled(signal.reason)
    const settled = new Settled()
    const settling = { ...evidence, requests, settled, signal }
    const { taken, refusals, skipped } = settled
    let failure: Failure | undefined
    const orFailure = (error: unknown) => {
      if (!isFailure(error)) throw error
      failure ??= error
    }
    let isKeptBack = false
    try {
      const cutting = { format, preset, limits: settings.batch, nowMs: ageNow() }
      let bodies = 0
      for (const { pieces, isFull } of cutBatches(events, cutting, settled)) {
        // With the events that follow it would be another body at the next try.
        isKeptBack = goesOn && !isFull && bodies > 0
        if (!isKeptBack) await new UnsettledBatch(pieces, settling).settle()
        bodies++
      }
    } catch (error) {
      orFailure(error)
    }
    await requests.confirm(settled.waiting, signal).catch(orFailure)
    if (failure !== undefined && taken.length + refusals.length + skipped.length === 0) throw failure
    // Before this sink has accepted any event, a refusal may be an error of the sink. One by size needs no proof.
    const open = evidence.refusalsStand ? [] : refusals.filter(({ reason }) => reason === 'refused')
    if (open.length > 0 && !(await evidence.hasTaken())) throw failure ?? undecided(requests.what, open)
    return {
      refusals,
      committed: [],
      bytes: settled.bytes,
      ...(skipped.length > 0 && { skipped }),
      ...(settled.lost > 0 && { lost: settled.lost }),
      ...((failure !== undefined || isKeptBack) && { partial: { taken, failure } }),
    }
  }

  return {
    name: settings.name,
    address: requests.url.origin,
    async open(
      stream,
      { hasTaken = async () => false, refusalsStand = false, ageNow = () => clock.now() },
    ): Promise<OpenStream> {
      const evidence = {
        stream: streamKey(stream),
        tally,
        hasTaken: async () => tally.hasTaken() || (await hasTaken()),
        refusalsStand,
      }
      return {
        deliver: (events, signal, goesOn = false) => deliver(events, evidence, ageNow, signal, goesOn),
        close: () => Promise.resolve(),
      }
    },
    check: (signal) => requests.check(signal),
    close: () => (closing ??= requests.close()),
  }
}

/**
 * A delivery had only refusals and the sink has never accepted an event: they are too few to show an error of the sink,
 * and nothing shows an error of the events, so nothing becomes a dead letter. The next accepted event, of any stream,
 * decides.
 */
function undecided(what: string, open: readonly Refusal[]): Failure {
  const count = open.length === 1 ? 'the only event' : `all ${open.length} events`
  const message = `${what} refused ${count} and has accepted none yet${excerptOf(open[0]!.answer)}`
  return new Failure('retry', 'rejected', message)
}
