import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Event } from '../domain/event/event.ts'
import { loadBytes } from '../domain/policy.ts'
import type { PageFacts } from '../domain/scan/page.ts'
import { afterPage, stepOf } from '../domain/scan/progress.ts'
import type { Scan, ScanStep } from '../domain/scan/scan.ts'
import type { LoadBounds } from '../ports/delivery.ts'
import type { Session } from './session.ts'

/** A page whose entries are identified, and of which nothing is delivered yet. */
export interface ReadPage {
  readonly facts: PageFacts
  /** Of the answer, where it was asked for. */
  readonly hash: string | undefined
  /** In bytes of the answer. */
  readonly bytes: number
  /** By the steady clock. */
  readonly requestedAt: number
  /** Events that the stream has not delivered. */
  readonly unseen: readonly Event[]
  /** Those of them that the sink is to get; all unless it filters. */
  readonly wanted: readonly Event[]
  /** Gives its memory back. Idempotent. */
  readonly release: () => void
}

/** A page of a load: the scan before it, where the scan is after it, and the checkpoint with it. */
export interface LoadPage extends ReadPage {
  readonly scan: Scan
  readonly step: ScanStep
  readonly after: Checkpoint
}

const bounds: LoadBounds = { bytes: loadBytes, events: 10_000, pages: 100 }
/** So long a load without anything new is read on: a crash costs that it is read again. */
const mostIdleMs = 1_000

/**
 * Consecutive pages of one scan, which are delivered and committed together. Nothing of it is in the session's
 * checkpoint before its commit: a failure, an expiry or a restart commits what is in the store.
 */
export class Load {
  readonly pages: LoadPage[] = []
  readonly #session: Session
  readonly #bounds: LoadBounds
  readonly #beganMs: number
  #bytes = 0
  #events = 0

  constructor(session: Session, own: Partial<LoadBounds> = {}) {
    this.#session = session
    this.#bounds = { ...bounds, ...own }
    this.#beganMs = session.deps.clock.monotonic()
  }

  /** The checkpoint after its pages, without what becomes of their events. */
  get after(): Checkpoint {
    return this.pages.at(-1)?.after ?? this.#session.checkpoint()
  }

  get hasEnough(): boolean {
    return this.#bytes >= this.#bounds.bytes || this.#events >= this.#bounds.events
  }

  get isFull(): boolean {
    if (this.hasEnough || this.pages.length >= this.#bounds.pages) return true
    return this.#events === 0 && this.#session.deps.clock.monotonic() - this.#beganMs >= mostIdleMs
  }

  add(page: ReadPage, scan: Scan): ScanStep {
    const { now, policy, sureNow } = this.#session
    const { facts } = page
    const step = stepOf(this.after, scan, facts, policy)
    const after = afterPage(this.after, { step, facts, sureMs: sureNow() }, now(), policy)
    this.pages.push({ ...page, scan, step, after })
    this.#bytes += page.bytes
    this.#events += page.unseen.length
    return step
  }
}
