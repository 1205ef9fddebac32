/** Each a queue of its own: ticks are never behind streams, and live streams never behind backfills. */
export const tickQueue = 'tick'
export const laneQueues = { live: 'live', backfill: 'backfill' } as const

/** First part of all keys of the queues; the braces keep them in one slot of a cluster, as their scripts need it. */
export function queuePrefix(keyPrefix: string): string {
  return `{${keyPrefix}}:queue`
}
