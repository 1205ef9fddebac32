import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import type { Secret } from '../../domain/text/secret.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Format } from '../../ports/format.ts'
import type { Telemetry } from '../../ports/telemetry.ts'
import type { OpenStream, Sink } from '../../ports/sink.ts'
import { backoffMs } from '../../transport/backoff.ts'
import { createDispatcher, type TlsOptions } from '../../transport/dispatcher.ts'
import { createSlots } from '../slots.ts'
import { type BatchLimits, cutBatches } from './batches.ts'
import type { Compression } from './body.ts'
import { createExchange } from './exchange.ts'
import { excerptOf } from './failures.ts'
import type { Preset } from './presets/preset.ts'
import { type PresetName, presets } from './presets/registry.ts'
import { probe } from './probe.ts'
import { createSend } from './send.ts'
import { settleBatch, type Settled } from './settle-batch.ts'
import { createDeliveryTally, createTally } from './tally.ts'
import { createTargetSource } from './target.ts'

export interface HttpSinkOptions {
  readonly name: string
  readonly preset: PresetName
  readonly url: string | Secret
  readonly headers: Readonly<Record<string, Secret | string>>
  readonly compression: Compression
  readonly timeoutSeconds: number
  readonly batch: BatchLimits
  readonly tls?: TlsOptions
}

export interface HttpSinkDeps {
  readonly format: Format
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly version: string
  /** Returns [0, 1), for the jitter of waits. */
  readonly random?: () => number
}

/** Concurrent requests over all streams; at most one per stream. */
const connections = 10
const pauseLimits = { baseMs: 500, maxMs: 4_000 }

/**
 * Posts bodies of events to an HTTP endpoint, at least once: the same events give the same bytes and the same
 * `Idempotency-Key` on every try. A 2xx, interpreted by the preset, is the acknowledgement. Batches of one delivery are
 * sent in sequence, different streams in parallel. Throws an error that names the field for options that cannot be
 * used; Failure (stop) for certificates.
 */
export function createHttpSink(options: HttpSinkOptions, deps: HttpSinkDeps): Sink {
  const { name, batch } = options
  const { format, clock, telemetry, random = Math.random } = deps
  const preset = presetOf(options, format)
  const targets = createTargetSource({
    name,
    url: options.url,
    headers: options.headers,
    userAgent: `shieldlog/${deps.version}`,
  })
  const dispatcher = createDispatcher({ tls: options.tls, connections })
  const what = `sink ${name} (${targets.origin})`
  const exchange = createExchange({
    name,
    what,
    dispatcher,
    slots: createSlots(connections),
    clock,
    telemetry,
    timeoutMs: options.timeoutSeconds * 1000,
  })
  const send = createSend(
    { what, compression: options.compression },
    { exchange, targets, preset, format, clock, random },
  )
  const tally = createTally()
  const pause = (again: number, signal: AbortSignal) =>
    clock.sleep(backoffMs(again, pauseLimits, random), signal)
  let closing: Promise<void> | undefined

  async function deliver(
    events: readonly Event[],
    hasTaken: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Delivery> {
    if (closing !== undefined || signal.aborted) throw cancelled(signal.reason)
    const delivering = createDeliveryTally(tally, hasTaken)
    const unmappable: Refusal[] = []
    const settled: Settled = { taken: [], refusals: [], bytes: 0 }
    const delivery = () => ({
      refusals: [...unmappable, ...settled.refusals],
      committed: [],
      bytes: settled.bytes,
    })
    try {
      for (const pieces of cutBatches(events, { format, preset }, batch, unmappable))
        await settleBatch(pieces, { what, send, tally: delivering, pause }, settled, signal)
    } catch (failure) {
      // Before this sink has taken any event, a refusal may be the sink's own error.
      const isKept = delivering.everTaken && settled.taken.length + settled.refusals.length > 0
      if (!isFailure(failure) || !isKept) throw failure
      return { ...delivery(), partial: { taken: settled.taken, failure } }
    }
    if (!delivering.everTaken) assertDecided(what, settled.refusals)
    return delivery()
  }

  const openWith = (hasTaken: () => Promise<boolean>): OpenStream => ({
    deliver: (events, signal) => deliver(events, hasTaken, signal),
    close: () => Promise.resolve(),
  })
  return {
    name,
    address: targets.origin,
    open: (_stream, { hasTaken = async () => false }) => Promise.resolve(openWith(hasTaken)),
    check: (signal) => probe({ what, exchange, targets, preset, clock }, signal),
    close: () => (closing ??= dispatcher.destroy()),
  }
}

function presetOf({ name, preset }: HttpSinkOptions, format: Format): Preset {
  const found: Preset | undefined = presets[preset]
  if (found === undefined)
    throw new Error(
      `sink ${name}: preset ${JSON.stringify(preset)} is unknown: use one of ${Object.keys(presets).join(', ')}`,
    )
  if (found.needsJson && !format.mediaType.includes('json'))
    throw new Error(
      `sink ${name}: preset ${preset} wants JSON, which format ${format.name} is not: use native`,
    )
  return found
}

/**
 * Throws when a delivery had only refusals, too few to blame the sink, and no event was ever taken that would blame the
 * events: nothing becomes a dead letter. The next event that this sink takes, of any stream, decides. A 413 to a single
 * event needs no such proof.
 */
function assertDecided(what: string, refusals: readonly Refusal[]): void {
  const open = refusals.find(({ reason }) => reason !== 'too_large')
  if (open === undefined) return
  const count = refusals.length === 1 ? 'the only event' : `all ${refusals.length} events`
  throw new Failure(
    'retry',
    'rejected',
    `${what} refused ${count} and has taken none yet${excerptOf(open.answer)}`,
  )
}
