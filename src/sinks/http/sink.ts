import type { Delivery, Refusal, Skip } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure, isFailure } from '../../domain/failure.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Format, OpenStream, Sink } from '../../ports/delivery.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { createDispatcher } from '../../transport/dispatcher.ts'
import { backoffMs } from '../../transport/retry.ts'
import { createSlots } from '../slots.ts'
import { excerptOf } from './answer-texts.ts'
import { cutBatches } from './bodies.ts'
import { checkDestination } from './check.ts'
import type { HttpSinkConfig } from './config.ts'
import { createPreset } from './presets/registry.ts'
import type { RequestDeps } from './request.ts'
import { createSinkSecrets } from './secrets.ts'
import { createSend } from './send.ts'
import { type Evidence, settleBatch, type Settled, Tally } from './settle.ts'

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
 * sent in sequence, different streams in parallel. Throws Failure (stop) for certificates.
 */
export function createHttpSink(settings: HttpSinkConfig, deps: HttpSinkDeps): Sink {
  const { name, batch } = settings
  const { format, clock, telemetry, random = Math.random } = deps
  const preset = createPreset(settings, format)
  const { origin } = new URL(preset.url)
  const dispatcher = createDispatcher({ tls: settings.tls, connections })
  const what = `sink ${name} (${origin})`
  const requests: RequestDeps = {
    name,
    what,
    preset,
    secrets: createSinkSecrets(settings),
    userAgent: `shieldlog/${deps.version}`,
    dispatcher,
    slots: createSlots(connections),
    timeoutMs: settings.timeoutSeconds * 1000,
    clock,
    telemetry,
  }
  const send = createSend({ ...requests, compression: settings.compression, random })
  const tally = new Tally()
  const pause = (again: number, signal: AbortSignal) =>
    clock.sleep(backoffMs(again, pauseLimits, random), signal)
  let closing: Promise<void> | undefined

  async function deliver(
    events: readonly Event[],
    evidence: Evidence,
    signal: AbortSignal,
  ): Promise<Delivery> {
    if (closing !== undefined || signal.aborted) throw cancelled(signal.reason)
    const unsendable: (Refusal | Skip)[] = []
    const settled: Settled = { taken: [], refusals: [], bytes: 0 }
    let dropped = 0
    const lost = (count: number, answer: string) => {
      dropped += count
      telemetry.emit({ name: 'EventsLost', sink: name, count, answer })
    }
    let failure: Failure | undefined
    try {
      const cutting = { format, preset, limits: batch, nowMs: clock.now() }
      const settling = { ...evidence, what, send, clock, pause, lost }
      for (const pieces of cutBatches(events, cutting, unsendable))
        await settleBatch(pieces, settling, settled, signal)
    } catch (error) {
      if (!isFailure(error) || settled.taken.length + settled.refusals.length === 0) throw error
      failure = error
    }
    // Before this sink has accepted any event, a refusal may be an error of the sink.
    const open = evidence.refusalsStand ? undefined : settled.refusals.find(needsProof)
    if (open !== undefined && !(await evidence.hasTaken()))
      throw failure ?? undecided(what, open, settled.refusals.length)
    return {
      ...sorted([...unsendable, ...settled.refusals]),
      committed: [],
      bytes: settled.bytes,
      ...(dropped > 0 && { lost: dropped }),
      ...(failure !== undefined && { partial: { taken: settled.taken, failure } }),
    }
  }

  return {
    name,
    address: origin,
    async open(stream, { hasTaken = async () => false, refusalsStand = false }): Promise<OpenStream> {
      const own = { stream: streamKey(stream), tally, refusalsStand }
      return {
        deliver(events, signal) {
          let known: Promise<boolean> | undefined
          const asked = async () => tally.hasTaken() || (await (known ??= hasTaken()))
          return deliver(events, { ...own, hasTaken: asked }, signal)
        },
        close: () => Promise.resolve(),
      }
    },
    check: (signal) => checkDestination(requests, signal),
    close: () => (closing ??= dispatcher.destroy()),
  }
}

/** What can never be sent, by what becomes of it: a dead letter, or a count. */
function sorted(all: readonly (Refusal | Skip)[]): Pick<Delivery, 'refusals' | 'skipped'> {
  const isSkip = (each: Refusal | Skip): each is Skip => each.reason === 'too_old'
  const skipped = all.filter(isSkip)
  if (skipped.length === 0) return { refusals: all as readonly Refusal[] }
  return { refusals: all.filter((each): each is Refusal => !isSkip(each)), skipped }
}

/** Refusals by size or age need no accepted event as proof. */
function needsProof({ reason }: Refusal | Skip): boolean {
  return reason !== 'too_large' && reason !== 'too_old'
}

/**
 * A delivery had only refusals and the sink has never accepted an event: they are too few to show an error of the sink,
 * and nothing shows an error of the events, so nothing becomes a dead letter. The next accepted event, of any stream,
 * decides.
 */
function undecided(what: string, { answer }: Refusal | Skip, refused: number): Failure {
  const count = refused === 1 ? 'the only event' : `all ${refused} events`
  const message = `${what} refused ${count} and has accepted none yet${excerptOf(answer)}`
  return new Failure('retry', 'rejected', message)
}
