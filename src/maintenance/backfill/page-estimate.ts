import type { Checkpoint } from '../../domain/checkpoint.ts'
import { routeKey, streamKey, type Stream } from '../../domain/stream.ts'

/** How many pages a full scan of a stream is likely to have; undefined where nothing is known. */
export type PageEstimate = (stream: Stream) => number | undefined

interface Mean {
  pages: number
  streams: number
}

/** From the stream's own latest full scan; else the mean of the same zone and sink, of the zone, or of all zones. */
export function createPageEstimate(checkpoints: readonly Checkpoint[]): PageEstimate {
  const own = new Map<string, number>()
  const means = new Map<string, Mean>()
  for (const { stream, lastFull } of checkpoints) {
    if (lastFull === undefined) continue
    own.set(streamKey(stream), lastFull.pages)
    for (const key of neighbourKeys(stream)) {
      const mean = means.get(key) ?? { pages: 0, streams: 0 }
      means.set(key, { pages: mean.pages + lastFull.pages, streams: mean.streams + 1 })
    }
  }
  return (stream) => {
    const known = own.get(streamKey(stream))
    if (known !== undefined) return known
    for (const key of neighbourKeys(stream)) {
      const mean = means.get(key)
      if (mean !== undefined) return Math.ceil(mean.pages / mean.streams)
    }
    return undefined
  }
}

/** The nearest first. */
function neighbourKeys({ zone, sink }: Stream): string[] {
  return [routeKey(zone, sink), String(zone), '']
}
