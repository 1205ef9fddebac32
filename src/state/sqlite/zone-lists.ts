import type { FoundZone } from '../../domain/zone-list.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Database } from './database/database.ts'

interface ZoneListRow {
  account: string
  listed_at: number
  zones: string
}

export function createZoneLists(database: Database): Pick<Catalogue, 'zoneLists' | 'storeZoneList'> {
  return {
    zoneLists: () =>
      database.read(() =>
        database
          .all<ZoneListRow>('SELECT account, listed_at, zones FROM zone_list ORDER BY account')
          .map(({ account, listed_at, zones }) => {
            return { account, listedAtMs: listed_at, zones: JSON.parse(zones) as FoundZone[] }
          }),
      ),
    storeZoneList: ({ account, listedAtMs, zones }) =>
      database.write(() => {
        const sql = 'INSERT OR REPLACE INTO zone_list (account, listed_at, zones) VALUES (?, ?, ?)'
        database.run(sql, account, listedAtMs, JSON.stringify(zones))
      }),
  }
}
