import type { Figure } from '../figures/figure.ts'
import { assertWhole, runShip, withSimulator, type Run } from '../processes/runs.ts'
import { toFiles, yesterday } from './ways.ts'

export interface MemoryOptions {
  /** Of the long run that is compared with one of 100,000. */
  readonly events: number
  /** Of each of the 1,500 streams of 500 zones. */
  readonly eventsPerStream: number
  readonly tell: (line: string) => void
}

/** At most, in MB: of any of these, and of many zones. */
const most = { any: 200, zones: 150 }
const fewEvents = 100_000
/** What counts as flat: a heap that is not full yet grows for a while. */
const mostGrowth = 1.25
const entryBytes = 525
const largePageEvents = Math.floor((8 * 1024 * 1024) / entryBytes)

/** Peak RSS of the shipper with many zones, with many events, and with large pages. */
export async function measureMemory({ events, eventsPerStream, tell }: MemoryOptions): Promise<Figure[]> {
  const few = await ship({ zones: 1, days: 2, eventsPerDay: fewEvents, pageSize: 1000 })
  tell(`memory: ${fewEvents.toLocaleString('en')} events, ${megabytes(few)} MB`)
  const many = await ship({ zones: 1, days: 2, eventsPerDay: events, pageSize: 1000 })
  tell(`memory: ${events.toLocaleString('en')} events, ${megabytes(many)} MB`)
  const zones = await ship({
    zones: 500,
    days: 3,
    eventsPerDay: eventsPerStream,
    pageSize: eventsPerStream / 2,
  })
  tell(`memory: 500 zones, ${megabytes(zones)} MB`)
  const large = await ship({
    zones: 8,
    days: 3,
    eventsPerDay: 2 * largePageEvents,
    pageSize: largePageEvents,
  })
  tell(`memory: large pages, ${megabytes(large)} MB`)
  return [
    peakOf(`peak RSS, ${fewEvents.toLocaleString('en')} events of a stream`, few),
    peakOf(`peak RSS, ${events.toLocaleString('en')} events of a stream`, many),
    {
      name: 'peak RSS, growth from the one to the other',
      value: many.peakBytes / few.peakBytes,
      unit: 'times',
      limit: { atMost: mostGrowth },
    },
    peakOf('peak RSS, 500 zones of 3 days', zones, most.zones),
    peakOf('peak RSS, pages of 8 MB on 24 streams', large),
  ]
}

async function ship(listing: {
  zones: number
  days: 2 | 3
  eventsPerDay: number
  pageSize: number
}): Promise<Run> {
  const { eventsPerDay, pageSize } = listing
  const zones = Array.from({ length: listing.zones }, (_, index) => 101 + index)
  // Of two days only the one that is over holds events: today grows denser the earlier it is.
  const days = listing.days === 2 ? { [yesterday()]: eventsPerDay } : eventsPerDay
  return withSimulator({ zones, days, pageSize, entryBytes }, async (url) => {
    const run = await runShip({ url, zones, days: listing.days, sinks: [toFiles] })
    assertWhole(run, listing.zones * (listing.days === 2 ? 1 : 3) * eventsPerDay, `${listing.zones} zones`)
    return run
  })
}

function peakOf(name: string, run: Run, atMost = most.any): Figure {
  const { seconds, cpuSeconds, events } = run
  const detail = `${events.toLocaleString('en')} events in ${seconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s`
  return { name, value: run.peakBytes / 1e6, unit: 'MB', limit: { atMost }, detail }
}

function megabytes({ peakBytes }: Run): string {
  return (peakBytes / 1e6).toFixed(0)
}
