import type { Checkpoint } from '../domain/checkpoint.ts'
import type { PageFacts } from '../domain/scan/page.ts'
import { streamKey } from '../domain/stream.ts'

/** A page of which every event is seen: while the answer of the API is the same, it need not be parsed again. */
export interface KnownPage {
  readonly hash: string
  /** As they are with nothing unseen. */
  readonly facts: PageFacts
  /** The mark of the stream when they were taken. */
  readonly mark: readonly string[]
}

interface Latest {
  readonly commit: number
  readonly committedAtMs: number
  readonly requestedAt: number
  readonly pages: readonly KnownPage[]
}

/** More than the streams that a process polls; a few megabytes. */
const mostStreams = 20_000
/** A known page takes 2 kB. The pages of a stream that is polled without news are one or two. */
const mostKnownStreams = 1_000
const mostPages = 2
/** Smaller pages are parsed as fast as they are remembered. */
const leastEvents = 100

/**
 * The latest committed pages of each stream. It counts for the commit that they were part of: after any other commit,
 * such as that of another process or of a person who has a day shipped again, nothing is known.
 *
 * When the last one was requested (by the steady clock) is known of all streams: the pages of a scan must not go back in
 * time, since in a listing that shifts, what moved between two requests would be on neither page. So a page that another
 * stream requested serves only if it is no older.
 */
export class LatestPages {
  readonly #latest = new Map<string, Latest>()
  /** Those with known pages; the oldest first. */
  readonly #known = new Set<string>()

  of({ stream, commit, lastCommitAtMs }: Checkpoint): Pick<Latest, 'requestedAt' | 'pages'> | undefined {
    const latest = this.#latest.get(streamKey(stream))
    return latest?.commit === commit && latest.committedAtMs === lastCommitAtMs ? latest : undefined
  }

  note(
    { stream, commit, lastCommitAtMs }: Checkpoint,
    requestedAt: number,
    read: readonly KnownPage[],
  ): void {
    const key = streamKey(stream)
    const pages = read.filter(({ facts }) => mayBeKnown(facts)).slice(-mostPages)
    this.#latest.delete(key)
    this.#latest.set(key, { commit, committedAtMs: lastCommitAtMs, requestedAt, pages })
    this.#known.delete(key)
    if (pages.length > 0) this.#known.add(key)
    if (this.#known.size > mostKnownStreams) this.#forget(this.#known.values().next().value!)
    if (this.#latest.size > mostStreams) this.#latest.delete(this.#latest.keys().next().value!)
  }

  #forget(key: string): void {
    this.#known.delete(key)
    const latest = this.#latest.get(key)
    if (latest !== undefined) this.#latest.set(key, { ...latest, pages: [] })
  }
}

/** Events with times in the future make other facts as time goes on. */
function mayBeKnown({ events, latestMs, newestMs }: PageFacts): boolean {
  return events >= leastEvents && latestMs === newestMs
}
