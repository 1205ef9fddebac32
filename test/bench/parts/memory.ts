import type { Figure } from '../figures.ts'
import { assertWhole, runShip, withSimulator, zonesOf, type Run } from '../processes/runs.ts'
import { entryBytes } from '../cost/costs.ts'
import { toFiles, yesterday } from './sinks.ts'

/** The program from its sources, as it is measured here, may take this much more than the built one. */
export const fromSource = 1.3
/** At most, in MB of the built program: of any of these, and of many zones. */
const most = { any: 200, zones: 150 }
/** Of one stream, in two runs that are compared. */
const [fewEvents, manyEvents] = [100_000, 1_000_000]
/** Of each of the 1,500 streams of 500 zones. */
const eventsPerStream = 200
/** What counts as flat: a heap that is not full yet grows for a while. */
const mostGrowth = 1.25
const largePageEvents = Math.floor((8 * 1024 * 1024) / entryBytes)

/** Peak RSS of the shipper with many zones, with many events, and with large pages. */
export async function measureMemory({ tell }: { readonly tell: (line: string) => void }): Promise<Figure[]> {
  const peak = async (what: string, listing: Listing, atMost = most.any): Promise<Figure> => {
    const run = await ship(listing)
    const value = run.peakBytes / 1e6
    tell(`memory: ${what}, ${value.toFixed(0)} MB`)
    const detail = `${run.events.toLocaleString('en')} events in ${run.seconds.toFixed(1)} s, CPU ${run.cpuSeconds.toFixed(1)} s`
    return { name: `peak RSS, ${what}`, value, unit: 'MB', limit: { atMost: atMost * fromSource }, detail }
  }
  const ofOneStream = (count: number) =>
    peak(`${count.toLocaleString('en')} events of a stream`, {
      zones: 1,
      days: 2,
      eventsPerDay: count,
      pageSize: 1000,
    })
  const [few, many] = [await ofOneStream(fewEvents), await ofOneStream(manyEvents)]
  const growth = { value: many.value / few.value, unit: 'times', limit: { atMost: mostGrowth } }
  const fleet = { zones: 500, days: 3, eventsPerDay: eventsPerStream, pageSize: eventsPerStream / 2 } as const
  const large = { zones: 8, days: 3, eventsPerDay: 2 * largePageEvents, pageSize: largePageEvents } as const
  return [
    few,
    many,
    { name: 'peak RSS, growth from the one to the other', ...growth },
    await peak('500 zones of 3 days', fleet, most.zones),
    await peak('pages of 8 MB on 24 streams', large),
  ]
}

interface Listing {
  readonly zones: number
  readonly days: 2 | 3
  readonly eventsPerDay: number
  readonly pageSize: number
}

async function ship(listing: Listing): Promise<Run> {
  const { eventsPerDay, pageSize } = listing
  const zones = zonesOf(listing.zones)
  // Of two days only the one that is over holds events: today grows denser the earlier it is.
  const days = listing.days === 2 ? { [yesterday()]: eventsPerDay } : eventsPerDay
  return withSimulator({ zones, days, pageSize, entryBytes }, async (url) => {
    const run = await runShip({ url, zones, days: listing.days, sinks: [toFiles] })
    assertWhole(run, listing.zones * (listing.days === 2 ? 1 : 3) * eventsPerDay, `${listing.zones} zones`)
    return run
  })
}
