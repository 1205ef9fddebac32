import { isFailure } from '../domain/failure.ts'
import {
  noticesOf,
  onceTold,
  type Notice,
  type Noticed,
  type NoticedAt,
  type NoticedProblem,
} from '../domain/notices.ts'
import { repeat } from '../domain/promises.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'

interface NoticeDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly store: Store
  /** Whether this process of several tells. Rejects where that is not known at the moment. */
  readonly leads: () => Promise<boolean>
  readonly problems: () => Promise<readonly NoticedProblem[]>
  /** Names of the places. */
  readonly places: readonly string[]
  /** Throws Failure. */
  readonly post: (place: string, notice: Notice, signal: AbortSignal) => Promise<void>
}

const everyMs = 30_000
/** More in one turn would be a storm: the others follow in the next. */
const mostAtOnce = 10

/**
 * Tells places of problems that begin, last and are over, until the signal aborts. What each place was told is in the
 * store, so that a restart or another process does not tell it again; what could not be told is tried again. Never
 * rejects, and delays nothing else.
 */
export async function keepNotified(
  { clock, telemetry, store, places, leads, problems, post }: NoticeDeps,
  signal: AbortSignal,
): Promise<void> {
  /** What places were told since the store took nothing any more. With its disk full it can still be read. */
  const unstored = new Map<string, readonly Noticed[]>()

  async function tell(): Promise<void> {
    // Another process may tell meanwhile, and stores it.
    if (!(await leads())) return unstored.clear()
    const standing = await problems()
    const stored = await store.catalogue.noticed()
    // A place that does not answer does not delay the others.
    const each = places.map((place) =>
      tellPlace(stored.find((each) => each.place === place) ?? { place, known: [] }, standing),
    )
    const failed = (await Promise.allSettled(each)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  /** `before`: as the store has it. Stores after each message, so that a process that is killed repeats one at most. */
  async function tellPlace(before: NoticedAt, standing: readonly NoticedProblem[]): Promise<void> {
    const { place } = before
    const judged = noticesOf(unstored.get(place) ?? before.known, standing, clock.now())
    const told = new Set<Notice>()
    let stored = before

    /** False where another process has stored something else meanwhile: it tells. */
    async function save(): Promise<boolean> {
      const known = judged.flatMap((each) =>
        each.notice !== undefined && told.has(each.notice) ? onceTold(each) : each.known,
      )
      unstored.delete(place)
      if (known.length + stored.known.length === 0) return true
      unstored.set(place, known)
      const isStored = await store.catalogue.storeNoticed({ place, known }, stored)
      unstored.delete(place)
      stored = { place, known }
      return isStored
    }

    for (const notice of judged.flatMap((each) => each.notice ?? []).slice(0, mostAtOnce)) {
      // Places that do not answer take long.
      if (!(await leads())) return
      try {
        await post(place, notice, signal)
      } catch (failure) {
        if (!isFailure(failure)) throw failure
        if (signal.aborted) break
        telemetry.emit({ name: 'NoticeFailed', place, failure })
        continue
      }
      telemetry.emit({ name: 'NoticeSent', place })
      told.add(notice)
      if (!(await save())) return
    }
    await save()
  }

  const failed = (error: unknown) => telemetry.emit({ name: 'UpkeepFailed', task: 'notices', error })
  await repeat(everyMs, tell, { clock, failed }, signal)
}
