import type { Day } from '../../domain/day.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'

/** The keys of one stream. */
export interface StreamKeys {
  readonly head: string
  readonly checkpoint: string
  readonly seen: string
  readonly ledger: string
  readonly deadLetters: string
}

/** All keys of a deployment share one hash tag, so that a script may change any of them in one step. */
export interface Keys {
  /** What all keys begin with. */
  readonly all: string
  readonly meta: string
  readonly streams: string
  readonly holders: string
  readonly routes: string
  readonly gaps: string
  readonly sinks: string
  /** Former names of sinks. */
  readonly formerNames: string
  readonly zoneLists: string
  readonly deadLetters: string
  readonly backfills: string
  backfill(id: string): string
  of(stream: Stream): StreamKeys
}

export function createKeys(prefix: string): Keys {
  const all = `{${prefix}}:`
  return {
    all,
    meta: `${all}meta`,
    streams: `${all}streams`,
    holders: `${all}holders`,
    routes: `${all}routes`,
    gaps: `${all}gaps`,
    sinks: `${all}sinks`,
    formerNames: `${all}formerNames`,
    zoneLists: `${all}zoneLists`,
    deadLetters: `${all}deadLetters`,
    backfills: `${all}backfills`,
    backfill: (id) => `${all}backfill:${id}`,
    of(stream) {
      const own = (name: string) => `${all}${name}:${streamKey(stream)}`
      return {
        head: own('head'),
        checkpoint: own('checkpoint'),
        seen: own('seen'),
        ledger: own('ledger'),
        deadLetters: `${all}deadLetters:${streamKey(stream)}`,
      }
    },
  }
}

/** Parses a `streamKey`. */
export function streamOf(text: string): Stream {
  const [zone = '', day = '', ...sink] = text.split('/')
  return { zone: Number(zone), day: day as Day, sink: sink.join('/') }
}
