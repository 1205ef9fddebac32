import { parseDay } from '../../domain/day.ts'
import type { Priority, Stream } from '../../domain/stream.ts'
import type { TraceCarrier } from '../../ports/process.ts'

/**
 * Why a stream was queued. `due`: its time has come. `more`: its time slice ended with more to do. `anew`: a process
 * has just started and tries the stream once despite its back-off.
 */
export type Reason = 'due' | 'more' | 'anew'

/** What a job holds: which stream, never its progress. Progress is in the stream's checkpoint. */
export interface JobData extends Stream {
  readonly priority: Priority
  readonly reason: Reason
  readonly trace?: TraceCarrier
}

const reasons: readonly string[] = ['due', 'more', 'anew'] satisfies readonly Reason[]
const longestSink = 512
const mostHeaders = 16
const longestHeader = 1_024

/** Reads a job's data, which other users of Redis may have written, or an eviction policy removed. */
export function readJobData(data: unknown, priority: Priority): JobData | { readonly error: string } {
  if (typeof data !== 'object' || data === null) return { error: 'it has no data' }
  const { zone, day, sink, reason, trace } = data as Record<string, unknown>
  if (typeof zone !== 'number' || !Number.isSafeInteger(zone))
    return { error: 'its zone is not a whole number' }
  const parsedDay = typeof day === 'string' ? parseDay(day) : undefined
  if (parsedDay === undefined) return { error: 'its day is not a day' }
  if (typeof sink !== 'string' || sink === '' || sink.length > longestSink)
    return { error: 'its sink is not a name' }
  const named = { zone, day: parsedDay, sink, priority, reason: isReason(reason) ? reason : 'due' } as const
  const carrier = readCarrier(trace)
  return carrier === undefined ? named : { ...named, trace: carrier }
}

function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && reasons.includes(value)
}

/** The work does not depend on a trace: a malformed one is ignored. */
function readCarrier(value: unknown): TraceCarrier | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const headers = Object.entries(value).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && entry[0].length + entry[1].length <= longestHeader,
  )
  return headers.length === 0 || headers.length > mostHeaders ? undefined : Object.fromEntries(headers)
}
