import type { Catalogue } from '../../ports/store.ts'
import type { Database } from './database/database.ts'
import { namesIn } from '../sink-names.ts'

interface SinkRow {
  name: string
  type: string
  place: string
  formerly: string
}

export function createSinks(database: Database): Pick<Catalogue, 'sinks' | 'rememberSinks'> {
  return {
    sinks: () =>
      database.read(() =>
        database
          .all<SinkRow>('SELECT name, type, place, formerly FROM sink ORDER BY name')
          .map(({ formerly, ...sink }) => ({ ...sink, formerly: namesIn(formerly) })),
      ),
    rememberSinks: (sinks) =>
      database.write(() => {
        const sql = `INSERT INTO sink (name, type, place) VALUES (?, ?, ?)
          ON CONFLICT DO UPDATE SET type = excluded.type, place = excluded.place`
        for (const { name, type, place } of sinks) database.run(sql, name, type, place)
      }),
  }
}
