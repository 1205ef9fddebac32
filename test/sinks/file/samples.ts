import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import type { Receipt } from '../../../src/domain/delivery.ts'
import type { Event, Identity } from '../../../src/domain/event.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Format, OpenOptions, OpenStream, Sink } from '../../../src/ports.ts'

/** One JSON object a line: small, and it can refuse. */
export const contractFormat: Format = {
  name: 'contract',
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

/** Plays the store for one stream: opens with the receipts that were committed last. */
export class StreamLedger {
  readonly stream: Stream
  readonly storeId: string
  readonly receipts = new Map<string, Receipt>()
  /** What `confirm` answers: is the fence of the last open still the latest? */
  confirm = (): Promise<void> => Promise.resolve()
  /** Does one of these lines stand nowhere else? */
  standOnlyHere = (_identities: readonly Identity[]): Promise<boolean> => Promise.resolve(true)

  constructor(stream: Stream, storeId = 'store-1') {
    this.stream = stream
    this.storeId = storeId
  }

  options(readable = true): OpenOptions {
    return {
      storeId: this.storeId,
      receipts: [...this.receipts.values()],
      readable,
      confirm: () => this.confirm(),
      standOnlyHere: (identities) => this.standOnlyHere(identities),
    }
  }

  commit(receipts: readonly Receipt[]): void {
    for (const receipt of receipts) this.receipts.set(receipt.part, receipt)
  }

  async open(sink: Sink, readable = true): Promise<OpenStream> {
    const opened = await sink.open(this.stream, this.options(readable), never())
    if (opened.adopted !== undefined) this.commit(opened.adopted.receipts)
    return opened
  }

  /** One pump with one page: open, deliver, commit. */
  async ship(sink: Sink, events: readonly Event[]): Promise<void> {
    const opened = await this.open(sink)
    try {
      this.commit((await opened.deliver(events, never())).receipts)
    } finally {
      await opened.close()
    }
  }
}

export function never(): AbortSignal {
  return new AbortController().signal
}

export function streamOf(sink: Sink, zone: number, daysAgo = 0): Stream {
  return { zone, day: shiftDay(dayOf(Date.UTC(2025, 10, 20)), -daysAgo), sink: sink.name }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
