import { isFailure } from '../../domain/failure.ts'
import { noticesOf, type Notice, type Noticed, type NoticedProblem } from '../../domain/notices.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'

export interface NoticeDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly store: Store
  /** Whether this process of several tells. Rejects where that is not known at the moment. */
  readonly mayTell: () => Promise<boolean>
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
export async function keepNotified(deps: NoticeDeps, signal: AbortSignal): Promise<void> {
  const { clock, telemetry } = deps
  const unstored = new Map<string, readonly Noticed[]>()
  while (!signal.aborted) {
    await tell(deps, unstored, signal).catch((error: unknown) => {
      if (!signal.aborted) telemetry.emit({ name: 'UpkeepFailed', task: 'notices', error })
    })
    await clock.sleep(everyMs, signal).catch(() => undefined)
  }
}

/** `unstored`: what places were told since the store took nothing any more. With its disk full it can still be read. */
async function tell(
  deps: NoticeDeps,
  unstored: Map<string, readonly Noticed[]>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, store, places, mayTell, problems } = deps
  // Another process may tell meanwhile, and stores it.
  if (!(await mayTell())) return unstored.clear()
  const standing = await problems()
  const before = await store.catalogue.noticed()
  // A place that does not answer does not delay the others.
  const each = places.map(async (place) => {
    const known = unstored.get(place) ?? before.find((each) => each.place === place)?.known ?? []
    const next = noticesOf(known, standing, clock.now())
    const untold = await postAll(deps, place, next.notices, signal)
    const kept = next.known.map((each) => (untold.has(each.key) ? withoutTelling(each, known) : each))
    // The end of a problem that could not be told.
    const ended = known.filter(({ key }) => untold.has(key) && !next.known.some((each) => each.key === key))
    unstored.set(place, [...kept, ...ended])
    await store.catalogue.storeNoticed({ place, known: [...kept, ...ended] })
    unstored.delete(place)
  })
  const failed = (await Promise.allSettled(each)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Returns the keys of those that could not be told. */
async function postAll(
  { telemetry, post }: NoticeDeps,
  place: string,
  notices: readonly Notice[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const untold = new Set(notices.slice(mostAtOnce).map(({ key }) => key))
  for (const notice of notices.slice(0, mostAtOnce)) {
    try {
      await post(place, notice, signal)
      telemetry.emit({ name: 'NoticeSent', place })
    } catch (failure) {
      if (!isFailure(failure)) throw failure
      untold.add(notice.key)
      if (!signal.aborted) telemetry.emit({ name: 'NoticeFailed', place, failure })
    }
  }
  return untold
}

function withoutTelling(noticed: Noticed, known: readonly Noticed[]): Noticed {
  const { toldAtMs: _, ...rest } = noticed
  const toldAtMs = known.find(({ key }) => key === noticed.key)?.toldAtMs
  return toldAtMs === undefined ? rest : { ...rest, toldAtMs }
}
