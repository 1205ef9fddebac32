import type { Event } from '../../domain/event/event.ts'
import { cancelled, isFailure, type Failure } from '../../domain/failure.ts'
import type { Sink } from '../../ports/delivery.ts'
import { Settlement, Tally } from '../settle.ts'
import { cutBatches } from './bodies.ts'
import type { HttpSinkConfig } from './config.ts'
import { createPreset } from './presets/registry.ts'
import { Requests, type HttpSinkDeps } from './requests.ts'

/**
 * Posts bodies of events to an HTTP endpoint, at least once: the same events give the same bytes and the same
 * `Idempotency-Key` on every try. A 2xx, interpreted by the preset, is the acknowledgement; where it is only a receipt,
 * its confirmation is. Batches of one delivery are sent in sequence and confirmed together, different streams in
 * parallel. Throws Failure (stop) for an invalid proxy address.
 */
export function createHttpSink(settings: HttpSinkConfig, deps: HttpSinkDeps): Sink {
  const { format, clock } = deps
  const preset = createPreset(settings, format)
  const requests = new Requests(settings, preset, deps)
  const tally = new Tally()
  let closing: Promise<void> | undefined

  return {
    name: settings.name,
    address: requests.url.origin,
    async open(stream, options) {
      const { ageNow = () => clock.now() } = options
      return {
        async deliver(events: readonly Event[], signal: AbortSignal, goesOn = false) {
          if (closing !== undefined || signal.aborted) throw cancelled(signal.reason)
          const settled = new Settlement({ ...deps, ...options, stream, tally, to: requests, signal })
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
              if (!isKeptBack) await settled.settle(pieces)
              bodies++
            }
          } catch (error) {
            orFailure(error)
          }
          await requests.confirm(settled.waiting, signal).catch(orFailure)
          return await settled.delivery(failure, isKeptBack)
        },
        close: () => Promise.resolve(),
      }
    },
    check: (signal) => requests.check(signal),
    close: () => (closing ??= requests.close()),
  }
}
