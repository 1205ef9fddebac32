import { policyOf } from '../config/planned.ts'
import type { Config } from '../config/schema.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Gap } from '../domain/gap.ts'
import { unreadOf } from '../domain/plan/stream-state.ts'
import { isGone, isReadToItsEnd, relist, type FoundZone } from '../domain/zone-list.ts'
import { plan } from '../domain/plan/plan.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'
import type { ApiClock } from '../pump/api-clock.ts'

interface Listing {
  readonly account: string
  readonly zones: readonly Pick<FoundZone, 'id' | 'name'>[]
}

export interface ListingDeps {
  readonly store: Store
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly telemetry: Telemetry
}

interface TakeDeps extends ListingDeps {
  /** The zones of the account so far. */
  readonly before: readonly FoundZone[]
  /** Whether this configuration ships a zone in this account. */
  readonly isShipped: (zone: Pick<FoundZone, 'id'>) => boolean
  /** Zones that other accounts name or list. */
  readonly elsewhere: ReadonlySet<number>
}

/**
 * Stores what a listing says of an account: all of its zones. What the configuration leaves out is left out when the
 * list is used, so a configuration that is refused after the listing changes nothing. The gaps of zones that are retired
 * are stored first: a process that is killed in between retires them again, and the same gaps count once.
 */
export async function takeListing(listing: Listing, config: Config, deps: TakeDeps): Promise<void> {
  const { account } = listing
  const { store, telemetry, clock, apiClock, before, elsewhere, isShipped } = deps
  const checkpoints = before.some(({ leftAtMs }) => leftAtMs !== undefined)
    ? Map.groupBy(await store.catalogue.checkpoints(), ({ stream }) => stream.zone)
    : new Map<number, Checkpoint[]>()
  const heldOf = (zone: FoundZone) => checkpoints.get(zone.id) ?? []
  const nowMs = apiClock.now(account)
  const sureMs = apiClock.sureNow(account)
  const { readableDays } = config.poll
  const listed = relist(before, listing.zones, {
    nowMs,
    elsewhere,
    isOver: (zone) =>
      // Not by its old streams while it is left out: they would become gaps.
      (isShipped(zone) && isGone(heldOf(zone))) ||
      // A clock that is days ahead must not retire a zone for which the API answers.
      (sureMs !== undefined && isReadToItsEnd(zone, heldOf(zone), { nowMs: sureMs, readableDays })),
  })
  const added = listed.added.filter(isShipped)
  const left = listed.left.filter(isShipped)
  const retired = listed.retired.filter(isShipped)
  const gone = retired.filter((zone) => isGone(heldOf(zone)))
  const gaps = gone.length === 0 ? [] : await unreadGaps(gone, config, { ...deps, nowMs, account })
  await store.catalogue.addGaps(gaps)
  for (const gap of gaps) telemetry.emit({ name: 'GapFound', gap })
  await store.catalogue.storeZoneList({ account, listedAtMs: clock.now(), zones: listed.zones })
  if (added.length > 0) telemetry.emit({ name: 'ZonesFound', account, zones: added })
  if (left.length > 0) telemetry.emit({ name: 'ZonesLeft', account, zones: left })
  if (retired.length > 0) telemetry.emit({ name: 'ZonesRetired', account, zones: retired, gaps: gaps.length })
  if (!listed.zones.some(isShipped))
    telemetry.emit({ name: 'Warned', about: 'zones', text: nothingShipped(account, listing.zones.length) })
}

function nothingShipped(account: string, zones: number): string {
  return zones === 0
    ? `the API lists no zones for account ${account}`
    : `no zone that the API lists for account ${account} is shipped: all are excluded or belong to another account`
}

/** What of the days of these zones was not read, into every sink. */
async function unreadGaps(
  zones: readonly FoundZone[],
  config: Config,
  {
    store,
    apiClock,
    nowMs,
    account,
  }: Pick<TakeDeps, 'store' | 'apiClock'> & { readonly nowMs: number; readonly account: string },
): Promise<Gap[]> {
  const [checkpoints, routes] = await Promise.all([store.catalogue.checkpoints(), store.catalogue.routes()])
  const planned = plan({
    nowOf: apiClock.now,
    zones: zones.map(({ id, name }) => ({ id, name, account })),
    sinks: config.sinks.map(({ name }) => name),
    policy: policyOf(config),
    checkpoints,
    routes,
  })
  return planned.flatMap(({ stream, checkpoint }) =>
    checkpoint?.ended !== undefined ? [] : (unreadOf(checkpoint ?? { stream }, 'zone_gone', nowMs) ?? []),
  )
}
