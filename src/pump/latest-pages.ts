import { streamKey, type Stream } from '../domain/stream.ts'

/** More than the streams that a process polls; a few megabytes. */
const mostStreams = 20_000

interface LatestPage {
  readonly commit: number
  readonly requestedAt: number
}

/**
 * When the latest committed page of each stream was requested, by the steady clock. The pages of a scan must not go back
 * in time: in a listing that shifts, what moved between two requests would be on neither page. So a page that another
 * stream requested serves only if it is no older. It counts for the commit that it was part of: after any other commit,
 * such as that of another process, it is not known.
 */
export class LatestPages {
  readonly #pages = new Map<string, LatestPage>()

  of(stream: Stream, commit: number): number | undefined {
    const latest = this.#pages.get(streamKey(stream))
    return latest?.commit === commit ? latest.requestedAt : undefined
  }

  note(stream: Stream, latest: LatestPage): void {
    const key = streamKey(stream)
    this.#pages.delete(key)
    this.#pages.set(key, latest)
    if (this.#pages.size > mostStreams) this.#pages.delete(this.#pages.keys().next().value!)
  }
}
