import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import { daysFrom, type Day } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import { formats, servedBy, type FormatName } from '../formats/registry.ts'
import type { ArchivedPiece } from '../maintenance/archive/archive-source.ts'
import { shipArchived, type Archived } from '../maintenance/archive/ship-archived.ts'
import { tooOldFor } from '../maintenance/backfill/backfill-plan.ts'
import type { Store } from '../ports/store.ts'
import { eventOfLine } from '../shield/entries/stored-event.ts'
import { createRedactor, type Redactor } from '../shield/redaction/redact.ts'
import { readArchive } from '../sinks/file/read.ts'
import { maxAgeHoursIn } from './backfill.ts'
import { refuseHeld, rememberSinks } from './held-sinks.ts'
import type { Shipping } from './shipping.ts'
import { openWork } from './work.ts'

export type ArchiveConfig = Extract<SinkConfig, { type: 'file' }>

export interface ArchiveRequest {
  readonly source: ArchiveConfig
  readonly sinks: readonly SinkConfig[]
  readonly zones: readonly Zone[]
  readonly from: Day
  readonly to: Day
}

/** `absent`: no file of that zone and day, and no record that there were no events. */
export type ArchiveOutcome =
  | ({ readonly as: 'read' } & Archived)
  | { readonly as: 'absent' }
  | { readonly as: 'empty' }
  | { readonly as: 'failed'; readonly error: string }

interface ArchiveTold {
  /** Called after each page of a stream. */
  progressed(stream: Stream, shipped: number, present: number): void
  settled(stream: Stream, outcome: ArchiveOutcome): void
}

/**
 * Ships days from a file sink's parts, one stream after another, in this process and beside any other. When a sink
 * fails, skips its other days and continues with the next sink. Throws `cancelled` and the Failures of a store.
 */
export async function backfillFromArchive(
  config: Config,
  request: ArchiveRequest,
  told: ArchiveTold,
  signal: AbortSignal,
): Promise<void> {
  await using work = await openWork(config, { store: 'created' }, signal)
  const { store } = work
  const shipping = await work.shipping()
  await refuseHeld(
    config,
    store,
    request.sinks.map(({ name }) => name),
  )
  await rememberSinks({ sinks: request.sinks }, store)
  await setClocks(store, request.zones, shipping)
  await work.beating(async () => {
    for (const sink of request.sinks)
      await shipToSink(sink, { config, request, store, shipping, told }, signal)
  })
}

const noLines = { lines: 0, damagedParts: 0, where: [] }

interface Archiving {
  readonly config: Config
  readonly request: ArchiveRequest
  readonly store: Store
  readonly shipping: Shipping
  readonly told: ArchiveTold
}

async function shipToSink(sink: SinkConfig, work: Archiving, signal: AbortSignal): Promise<void> {
  const { config, request, store, shipping, told } = work
  const redactor = createRedactor(config.redact)
  for (const day of daysFrom(request.from, request.to))
    for (const zone of request.zones) {
      const stream: Stream = { zone: zone.id, day, sink: sink.name }
      const job = {
        request: randomUUID(),
        stream,
        zone,
        sink: shipping.sinks.get(sink.name)!,
        read: () => piecesOf({ source: request.source, target: sink.format, zone, day }, redactor),
        progressed: (shipped: number, present: number) => told.progressed(stream, shipped, present),
      }
      const tooOld = tooOldFor(stream, systemClock.now(), { maxAgeHoursOf: maxAgeHoursIn(config) })
      if (tooOld !== undefined) {
        const nothing = { shipped: 0, present: 0, filtered: 0, skipped: 0, refused: 0 }
        told.settled(stream, { as: 'read', ...nothing, ...noLines, leftOut: tooOld })
        continue
      }
      try {
        if (!(await isArchived(request.source, stream))) {
          told.settled(stream, {
            as: (await wasEmpty(store, request.source, stream)) ? 'empty' : 'absent',
          })
          continue
        }
        told.settled(stream, { as: 'read', ...(await shipArchived(job, shipping.deps, signal)) })
      } catch (error) {
        if (!isFailure(error) || signal.aborted || error.code.startsWith('store_')) throw error
        told.settled(stream, { as: 'failed', error: messageOf(error) })
        return
      }
    }
}

async function isArchived(source: ArchiveConfig, stream: Stream): Promise<boolean> {
  for await (const _ of readArchive(source.path, stream)) return true
  return false
}

/** A day without events has no file; the source's own checkpoint shows whether it was read to its end. */
async function wasEmpty(store: Store, source: ArchiveConfig, stream: Stream): Promise<boolean> {
  const own = await store.ledger.read({ ...stream, sink: source.name })
  if (own?.lastFull === undefined) return false
  const { delivered, deadLetters, dropped = 0, filtered = 0, skipped = 0 } = own.counters
  return delivered + deadLetters + dropped + filtered + skipped === 0
}

/** Formats whose lines keep enough of an event. */
const kept: readonly FormatName[] = ['native', 'raw']

interface ArchivedDay {
  readonly source: ArchiveConfig
  readonly target: FormatName
  readonly zone: Zone
  readonly day: Day
}

/** The lines of a zone's day in a file sink's parts, as events that serve a sink of the target format. */
export async function* piecesOf(
  { source, target, zone, day }: ArchivedDay,
  redactor: Redactor,
): AsyncGenerator<ArchivedPiece> {
  // Parts may hold lines of a format that the sink had before.
  const readers = [...new Set([source.format, ...kept])]
    .filter((format) => servedBy(format === source.format ? source : { format }).includes(target))
    .map((format) => formats[format]())
  function eventOf(line: string): Event | undefined {
    for (const reader of readers) {
      const kept = reader.readBack?.(line)
      if (kept !== undefined)
        return kept.zone === zone.id
          ? eventOfLine(kept, { id: zone.id, name: zone.name }, redactor)
          : undefined
    }
    return undefined
  }
  for await (const piece of readArchive(source.path, { zone: zone.id, day })) {
    if (!('lines' in piece)) yield piece
    else {
      const { part, from, lines } = piece
      yield { part, from, events: lines.map((line) => ({ event: eventOf(line), bytes: line.length })) }
    }
  }
}

/** After a restart this host's clock may be behind the times in the store. */
async function setClocks(
  store: Store,
  zones: readonly Zone[],
  { deps }: Pick<Shipping, 'deps'>,
): Promise<void> {
  const accounts = new Map(zones.map(({ id, account }) => [id, account]))
  for (const { stream, lastCommitAtMs } of await store.catalogue.checkpoints()) {
    const account = accounts.get(stream.zone)
    if (account !== undefined) deps.apiClock.notBefore(account, lastCommitAtMs)
  }
}
