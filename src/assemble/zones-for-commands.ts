import { systemClock } from '../clock.ts'
import type { Loaded } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { ZoneList } from '../domain/zone-list.ts'
import type { Store } from '../ports/store.ts'
import { listAccounts } from './reading.ts'
import { discoveringIn, withZones } from '../discovery/with-zones.ts'
import { openExistingStore } from './state.ts'

/** For commands that read the API and no store: the zones that the API lists. Throws Failure. */
export async function withListedZones<L>(loaded: Read<L>, signal: AbortSignal): Promise<Read<L>> {
  const { config } = loaded
  const accounts = discoveringIn(config)
  if (accounts.length === 0) return loaded
  const listed = await listAccounts(config, signal, { accounts })
  for (const each of listed) if ('failure' in each) throw each.failure
  const found = new Map(listed.map((each) => [each.account, 'zones' in each ? each : { zones: [] }]))
  return { ...loaded, config: withZones(config, found) }
}

/** For commands that work on the store and the API: the zones that a run ships, else those that the API lists. */
export async function withKnownZones<L>(loaded: Read<L>, signal: AbortSignal): Promise<Read<L>> {
  const { config } = loaded
  const accounts = discoveringIn(config)
  if (accounts.length === 0) return loaded
  const lists = await storedLists(config)
  const isKnown = accounts.every(({ name }) => lists.has(name))
  return isKnown ? { ...loaded, config: withZones(config, lists) } : withListedZones(loaded, signal)
}

/** What was loaded, with its configuration. */
type Read<L> = L & Pick<Loaded, 'config'>

/** For commands that only read the store: the zones that a run ships. None of an account that no run has listed. */
export async function withStoredZones<L>(loaded: Read<L>): Promise<Read<L>> {
  const { config } = loaded
  if (discoveringIn(config).length === 0) return loaded
  return { ...loaded, config: withZones(config, await storedLists(config)) }
}

/** The lists of zones that the store holds, by account. */
async function storedLists(config: Config): Promise<ReadonlyMap<string, ZoneList>> {
  const store = await openExistingStore(config, systemClock)
  try {
    return store === undefined ? new Map() : await zoneListsOf(store)
  } finally {
    await store?.close()
  }
}

export async function zoneListsOf({ catalogue }: Pick<Store, 'catalogue'>): Promise<Map<string, ZoneList>> {
  return new Map((await catalogue.zoneLists()).map((list) => [list.account, list]))
}
