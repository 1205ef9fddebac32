import type { Day } from './day.ts'

/** A shield zone as the configuration names it. */
export interface Zone {
  readonly id: number
  readonly name: string
  /** The account whose key reads it and whose request budget it uses. */
  readonly account: string
}

/** One zone, one day, one sink: the unit of work, of a checkpoint and of a job. */
export interface Stream {
  readonly zone: number
  readonly day: Day
  readonly sink: string
  /** Only in a temporary stream: id of the backfill (`--resend`) that ships the day once more through it. */
  readonly resend?: string
}

/** Text form that is unique for each stream and sorts by zone, then day. */
export function streamKey(stream: Stream): string {
  return `${stream.zone}/${stream.day}/${sinkKey(stream)}`
}

type SinkOfStream = Pick<Stream, 'sink' | 'resend'>

/** The sink of a stream as stores keep it: a temporary stream has a key of its own. No sink name holds a `#`. */
export function sinkKey({ sink, resend }: SinkOfStream): string {
  return resend === undefined ? sink : `${sink}#${resend}`
}

/** The inverse of `sinkKey`. */
export function readSinkKey(text: string): SinkOfStream {
  const at = text.indexOf('#')
  return at === -1 ? { sink: text } : { sink: text.slice(0, at), resend: text.slice(at + 1) }
}

/** The stream alone, of a value that holds more. */
export function onlyStream({ zone, day, sink, resend }: Stream): Stream {
  return resend === undefined ? { zone, day, sink } : { zone, day, sink, resend }
}

/** The live stream of the same zone, day and sink. */
export function liveStream({ zone, day, sink }: Stream): Stream {
  return { zone, day, sink }
}

/** The timer starts live work; a person requests a backfill. */
export type Priority = 'live' | 'backfill'
