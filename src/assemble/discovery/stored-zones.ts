import type { Loaded } from '../../config/load/load.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { ZoneList } from '../../domain/zone-list.ts'
import type { Store } from '../../ports/store.ts'
import { systemClock } from '../../clock.ts'
import { openExistingStore } from '../existing-store.ts'
import { discoveringIn, withZones } from './with-zones.ts'

/** What was loaded, with its configuration. */
export type Read<L> = L & Pick<Loaded, 'config'>

/** For commands that only read the store: the zones that a run ships. None of an account that no run has listed. */
export async function withStoredZones<L>(loaded: Read<L>): Promise<Read<L>> {
  const { config } = loaded
  if (discoveringIn(config).length === 0) return loaded
  return { ...loaded, config: withZones(config, await storedLists(config)) }
}

/** The lists of zones that the store holds, by account. */
export async function storedLists(config: Config): Promise<ReadonlyMap<string, ZoneList>> {
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
