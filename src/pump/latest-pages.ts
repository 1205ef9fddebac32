import type { Checkpoint } from '../domain/checkpoint.ts'
import type { PageFacts } from '../domain/scan/page.ts'
import type { Scan } from '../domain/scan/scan.ts'
import { streamKey } from '../domain/stream.ts'

/** A page of which every event is seen: while the answer of the API is the same, it need not be parsed again. */
export interface KnownPage {
  readonly hash: string
  /** As they are with nothing unseen. */
  readonly facts: PageFacts
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

/** More than the streams that a process polls; a few megabytes. */
const mostStreams = 20_000
/** A known page takes 2 kB. The pages of a stream that is polled without news are one or two. */
const mostKnownStreams = 1_000
const mostPages = 2
/** Smaller pages are parsed as fast as they are remembered. */
const leastEvents = 100

/**
 * The latest committed pages of each stream. They count for the commit that they were part of: after any other commit,
 * such as that of another process or of a person who has a day shipped again, nothing is known. All are forgotten where
 * there are too many.
 *
 * When the last one was requested (by the steady clock) is known of all streams: the pages of a scan must not go back in
 * time, since in a listing that shifts, what moved between two requests would be on neither page. So a page that another
 * stream requested serves only if it is no older.
 */
export class LatestPages {
  readonly #requests = new Map<string, { readonly of: string; readonly requestedAt: number }>()
  readonly #pages = new Map<string, readonly KnownPage[]>()

  of(checkpoint: Checkpoint) {
    const key = streamKey(checkpoint.stream)
    const latest = this.#requests.get(key)
    if (latest?.of !== commitOf(checkpoint)) return undefined
    return { requestedAt: latest.requestedAt, pages: this.#pages.get(key) ?? [] }
  }

  /** After a commit of these pages: every event on them is seen now. */
  note(checkpoint: Checkpoint, read: readonly ReadPage[]): void {
    const last = read.at(-1)
    if (last === undefined) return
    const key = streamKey(checkpoint.stream)
    if (this.#requests.size >= mostStreams) this.#requests.clear()
    this.#requests.set(key, { of: commitOf(checkpoint), requestedAt: last.requestedAt })
    const pages = read.flatMap(({ hash, facts, scan }) => {
      if (hash === undefined || !mayBeKnown(facts)) return []
      const seen = { ...facts, unseen: 0, unseenTimesMs: [], fresh: 0, met: facts.metOnceSeen }
      return [{ hash, facts: seen, after: soFar(scan) }]
    })
    if (this.#pages.size >= mostKnownStreams) this.#pages.clear()
    if (pages.length > 0) this.#pages.set(key, pages.slice(-mostPages))
    else this.#pages.delete(key)
  }
}

function commitOf({ commit, lastCommitAtMs }: Checkpoint): string {
  return `${commit} ${lastCommitAtMs}`
}

/** Events with times in the future make other facts as time goes on. */
function mayBeKnown({ events, latestMs, newestMs }: PageFacts): boolean {
  return events >= leastEvents && latestMs === newestMs
}
