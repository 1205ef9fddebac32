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
