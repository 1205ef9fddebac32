import type { ZoneList } from '../../domain/zone-list.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Keys } from './keys.ts'
import type { Link } from './server/link.ts'

export function createZoneLists(
  link: Link,
  { zoneLists }: Keys,
): Pick<Catalogue, 'zoneLists' | 'storeZoneList'> {
  return {
    async zoneLists() {
      const lists = Object.entries(await link.run((client) => client.hgetall(zoneLists)))
      return lists
        .map(([account, text]) => ({ account, ...(JSON.parse(text) as Omit<ZoneList, 'account'>) }))
        .toSorted((one, other) => (one.account < other.account ? -1 : 1))
    },
    async storeZoneList({ account, ...list }) {
      await link.run((client) => client.hset(zoneLists, account, JSON.stringify(list)))
    },
  }
}
