import { dayOf, shiftDay, type Day } from '../../../src/domain/day.ts'
import type { CommittedPart, Delivery } from '../../../src/domain/event/delivery.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Format, AnySink, OpenStream, Reconciliation, Table } from '../../../src/ports/delivery.ts'
import { readArchive } from '../../../src/sinks/file/parts.ts'

/** A column of lines. */
export function lineTable(encode: (event: Event) => string): Table {
  return {
    layout: 'lines/1',
    columns: [{ name: 'line', type: 'text' }],
    row(event, [leaf]) {
      const line = encode(event)
      leaf!.add(line, 1, 0)
      return line.length
    },
    line: ([text]) => text as string,
  }
}

/** One JSON object a line: small, and it can refuse. */
export const contractFormat: Format = {
  name: 'contract',
  table: lineTable((event) => contractFormat.encode(event)),
  mediaType: 'application/x-ndjson',
  encode(event) {
    if (event.action === 'unmappable') throw new Error('this event has no form')
    const time = event.time === undefined ? {} : { time: event.time }
    return JSON.stringify({ id: event.id, ...time, log: event.log })
  },
  identify(line) {
    const value = parse(line)
    if (typeof value !== 'object' || value === null || !('id' in value) || typeof value.id !== 'string')
      return undefined
    const time = 'time' in value && typeof value.time === 'string' ? { time: value.time } : {}
    return { id: value.id, ...time }
  },
}

export function idOf(line: string): string {
  const identity = contractFormat.identify(line)
  if (identity === undefined) throw new Error(`not a line of the contract's format: ${line.slice(0, 200)}`)
  return identity.id
}

export function buildEvent(id: string, more: Partial<Event> = {}): Event {
  const timeMs = Date.UTC(2025, 10, 20, 12)
  return {
    id,
    time: new Date(timeMs).toISOString(),
    timeMs,
    fingerprint: 1n,
    zone: { id: 101, name: 'shop' },
    labels: {},
    log: {},
    raw: () => ({ logId: id }),
    ...more,
  }
}

export function buildEvents(count: number, prefix = 'event'): Event[] {
  return Array.from({ length: count }, (_, index) => buildEvent(`${prefix}-${index}`))
}

/** Plays the store for one stream: opens with what was committed last. */
export class StreamLedger {
  readonly stream: Stream
  readonly storeId: string
  readonly committed = new Map<string, CommittedPart>()
  /** Number of the last object. */
  objects = 0
  /** What `confirm` answers: is the fence of the last open still the latest? */
  confirm = (): Promise<void> => Promise.resolve()
  /** Copies of lines that a sink was about to cut on a day that can no longer be read. */
  readonly lost: string[] = []
  onLost = (): Promise<void> => Promise.resolve()
  knownSinceMs = 0

  constructor(stream: Stream, storeId = 'store-1') {
    this.stream = stream
    this.storeId = storeId
  }

  known(readable = true): Reconciliation {
    const lost = async (copy: string) => {
      this.lost.push(copy)
      await this.onLost()
    }
    return {
      storeId: this.storeId,
      committed: [...this.committed.values()],
      confirm: () => this.confirm(),
      ...(!readable && { knownSinceMs: this.knownSinceMs, unreadable: { lost } }),
    }
  }

  commit(committed: readonly CommittedPart[]): void {
    for (const committedPart of committed) this.committed.set(committedPart.part, committedPart)
  }

  commitDelivery({ committed, object }: Delivery): void {
    this.commit(committed)
    this.objects = object?.number ?? this.objects
  }

  open(sink: AnySink, readable = true): Promise<OpenStream> {
    const objects = {
      storeId: this.storeId,
      last: () => this.objects,
      confirm: () => this.confirm(),
      wasNamed: () => Promise.resolve(false),
    }
    if (!('reconcile' in sink)) return sink.open(this.stream, { objects }, never())
    return sink.reconcile(this.stream, this.known(readable), never())
  }

  /** One pump with one page: open, deliver, commit. */
  async ship(sink: AnySink, events: readonly Event[]): Promise<void> {
    const opened = await this.open(sink)
    try {
      this.commitDelivery(await opened.deliver(events, never()))
    } finally {
      await opened.close()
    }
  }
}

export function never(): AbortSignal {
  return new AbortController().signal
}

export function streamOf(sink: { readonly name: string }, zone: number, daysAgo = 0): Stream {
  return { zone, day: shiftDay(dayOf(Date.UTC(2025, 10, 20)), -daysAgo), sink: sink.name }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** All whole lines of a zone's day below a sink's path. Lines of a delivery in progress are among them. */
export async function* readParts(path: string, zone: number, day: string): AsyncGenerator<string> {
  for await (const read of readArchive(path, { zone, day: day as Day }))
    if ('lines' in read) yield* read.lines
}
