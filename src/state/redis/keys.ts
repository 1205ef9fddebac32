import type { Day } from '../../domain/day.ts'
import type { Stream } from '../../domain/stream.ts'

/** Where a stream is kept: its sink's place, which is not its name any more once the sink was renamed. */
export interface Place {
  /** "zone/day/place": the stream as lists name it. */
  readonly stream: string
  readonly record: string
  readonly seen: string
  readonly ledger: string
  readonly letters: string
  readonly letterTotals: string
  readonly gaps: string
}

/** All keys begin with the prefix. Those of one stream share a hash tag, and so do those of the whole store. */
export interface Keys {
  readonly meta: string
  readonly sinks: string
  readonly streams: string
  readonly pairs: string
  readonly gaps: string
  readonly letters: string
  readonly announced: string
  readonly backfills: string
  readonly backfilled: string
  holder(id: string): string
  place(stream: string): Place
}

export function createKeys(prefix: string): Keys {
  const shared = (name: string) => `${prefix}:{store}:${name}`
  return {
    meta: shared('meta'),
    sinks: shared('sinks'),
    streams: shared('streams'),
    pairs: shared('pairs'),
    gaps: shared('gaps'),
    letters: shared('letters'),
    announced: shared('announced'),
    backfills: shared('backfills'),
    backfilled: shared('backfilled'),
    holder: (id) => `${prefix}:holder:${id}`,
    place(stream) {
      const own = (name: string) => `${prefix}:{${stream}}:${name}`
      return {
        stream,
        record: own('c'),
        seen: own('s'),
        ledger: own('m'),
        letters: own('d'),
        letterTotals: own('t'),
        gaps: own('g'),
      }
    },
  }
}

/** What lists name a stream by, without the place of its sink. */
export function beginningOf({ zone, day }: Pick<Stream, 'zone' | 'day'>): string {
  return `${zone}/${day}/`
}

/** Takes apart what `beginningOf` and a place were put together to. */
export function partsOf(stream: string): {
  readonly zone: number
  readonly day: Day
  readonly place: string
} {
  const [zone = '', day = '', ...rest] = stream.split('/')
  return { zone: Number(zone), day: day as Day, place: rest.join('/') }
}
