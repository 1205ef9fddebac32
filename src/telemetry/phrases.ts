import type { FailureCode } from '../domain/failure.ts'
import type { Stream, Zone } from '../domain/stream.ts'

/** Parts of messages, for people. */

export function zonePhrase(id: number, zone: Zone | undefined): string {
  return zone === undefined || zone.name === String(id) ? `zone ${id}` : `zone ${id} (${zone.name})`
}

export function streamPhrase(stream: Stream, zone: Zone | undefined): string {
  return `${zonePhrase(stream.zone, zone)} → ${stream.sink}`
}

export function durationPhrase(ms: number): string {
  const seconds = Math.max(0, ms / 1000)
  if (!Number.isFinite(seconds)) return 'unknown time'
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

export function countPhrase(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** ISO 8601 in UTC; undefined for an invalid time. */
export function instantPhrase(atMs: number): string | undefined {
  const at = new Date(atMs)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** A code in words, where a line counts failures of one code. */
export const reasonPhrases: Readonly<Record<FailureCode, string>> = {
  window_closed: 'the API no longer answers for the day',
  cursor_expired: 'the API refused a continuation token',
  scan_guarded: 'a scan ended early',
  unauthorised: 'the key is refused',
  zone_gone: 'the zone is unknown to the API',
  page_too_large: 'a page is too large',
  bad_body: 'an answer that cannot be read',
  rejected: 'the request is refused',
  throttled: 'too many requests',
  timeout: 'no answer in time',
  network: 'no connection',
  tls: 'no TLS connection',
  server_error: 'the server reported an error of its own',
  sink_refuses: 'the destination refuses everything',
  sink_gone: 'the reader went away',
  disk_full: 'the disk is full',
  unwritable: 'a file cannot be written',
  store_unavailable: 'the store does not answer',
  store_refuses: 'the store refuses the work',
  no_store: 'there is no store',
  fence_lost: 'another process took the stream over',
  held: 'another process has the stream',
  index_dropped: 'the deduplication index was dropped',
  dead_letters_full: 'no space for dead letters',
  crashed: 'the process crashed at this stream',
  gave_way: 'live streams come first',
  cancelled: 'stopped',
}
