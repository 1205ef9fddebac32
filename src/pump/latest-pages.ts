import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Cursor, PageFacts } from '../domain/scan/page.ts'
import type { Scan } from '../domain/scan/scan.ts'
import { streamKey, type Stream } from '../domain/stream.ts'

/** A page of which every event is seen: while the answer of the API is the same, it need not be parsed again. */
export interface KnownPage {
  readonly hash: string
  readonly cursor: Cursor | null
  /** As they are with nothing unseen; as JSON, which takes a third of the memory. */
  readonly facts: string
  /** What its scan had read by then, and had still to meet: they hold after the same only. */
  readonly after: string
}

/** What the facts of a page depend on besides the page and what is seen. */
export function soFar({ owed = [], last, sinceMs }: Scan): string {
  return `${owed.join()} ${last.join()} ${sinceMs ?? ''}`
}

interface ReadPage {
  readonly hash: string | undefined
  readonly facts: PageFacts
  /** Before the page. */
  readonly scan: Scan
  readonly requestedAt: number
}

interface Latest {
  readonly of: string
  readonly requestedAt: number
  readonly pages: readonly KnownPage[]
}

/** More than the streams that a process polls. A known page takes 3 kB; those of a poll without news are one or two. */
const mostStreams = 20_000
const mostPages = 2
/** Smaller pages are parsed as fast as they are remembered. */
const leastEvents = 100

/**
 * The latest committed pages of each stream. They count for the commit that they were part of: after any other commit,
 * such as that of another process or of a person who has a day shipped again, nothing is known. Where there are too many
 * streams, the one that was read longest ago is forgotten.
 *
 * When the last one was requested (by the steady clock) is known of all streams: the pages of a scan must not go back in
 * time, since in a listing that shifts, what moved between two requests would be on neither page. So a page that another
 * stream requested serves only if it is no older.
 */
export class LatestPages {
  readonly #latest = new Map<string, Latest>()

  /** Whether a pump of this process has committed a page of the stream. */
  has(stream: Stream): boolean {
    return this.#latest.has(streamKey(stream))
  }

  of(checkpoint: Checkpoint): Latest | undefined {
    const latest = this.#latest.get(streamKey(checkpoint.stream))
    return latest?.of === commitOf(checkpoint) ? latest : undefined
  }

  /** After a commit of these pages: every event on them is seen now. */
  note(checkpoint: Checkpoint, read: readonly ReadPage[]): void {
    const last = read.at(-1)
    if (last === undefined) return
    const key = streamKey(checkpoint.stream)
    const pages = read.flatMap(({ hash, facts, scan }): KnownPage[] => {
      if (hash === undefined || !mayBeKnown(facts)) return []
      const seen = { ...facts, unseen: 0, unseenTimesMs: [], fresh: 0, met: facts.metOnceSeen }
      return [{ hash, cursor: facts.cursor, facts: JSON.stringify(seen), after: soFar(scan) }]
    })
    this.#latest.delete(key)
    this.#latest.set(key, {
      of: commitOf(checkpoint),
      requestedAt: last.requestedAt,
      pages: pages.slice(-mostPages),
    })
    if (this.#latest.size > mostStreams) this.#latest.delete(this.#latest.keys().next().value!)
  }
}

function commitOf({ commit, lastCommitAtMs }: Checkpoint): string {
  return `${commit} ${lastCommitAtMs}`
}

/** Events with times in the future make other facts as time goes on. */
function mayBeKnown({ events, latestMs, newestMs }: PageFacts): boolean {
  return events >= leastEvents && latestMs === newestMs
}
