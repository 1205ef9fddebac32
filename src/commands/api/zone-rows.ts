import type { Config } from '../../config/schema/schema.ts'
import { printable } from '../../domain/text/printable.ts'
import { tableLines } from '../terminal/table.ts'
import type { AccountZones } from '../../discovery/list-zones.ts'

/** A zone as `zones --json` prints it; missing values are left out. */
export interface ZoneRow {
  readonly account: string
  readonly id: number
  readonly name?: string
  readonly hosts?: readonly string[]
  readonly pullZone?: number
  readonly plan?: string
  readonly waf?: boolean
  readonly configured: boolean
}

/** The listed zones with what the configuration says of them: its name for a zone comes before the API's. */
export function describeZones(config: Config, listed: readonly AccountZones[]): ZoneRow[] {
  return listed.flatMap((each) => {
    if ('failure' in each) return []
    const { account } = each
    const { zones: configured = [], discovery } = config.accounts.find(({ name }) => name === account) ?? {}
    return each.zones.map(({ id, name, hosts, pullZone, plan, isWafEnabled }): ZoneRow => {
      const own = configured.find((zone) => zone.id === id)
      const shown = own === undefined || own.name === String(id) ? name : own.name
      return {
        account,
        id,
        ...(shown !== '' && { name: shown }),
        ...(hosts.length > 0 && { hosts }),
        ...(pullZone !== undefined && { pullZone }),
        ...(plan !== undefined && { plan }),
        ...(isWafEnabled !== undefined && { waf: isWafEnabled }),
        configured: discovery === undefined ? own !== undefined : !discovery.exclude.includes(id),
      }
    })
  })
}

/** A line a zone under a header; columns that would be empty are left out. */
export function zoneTable(
  rows: readonly ZoneRow[],
  { isSeveral, width }: { readonly isSeveral: boolean; readonly width: number },
): string[] {
  if (rows.length === 0) return []
  const columns: [title: string, cell: (row: ZoneRow) => string][] = [
    ['account', ({ account }) => (isSeveral ? account : '')],
    ['zone', ({ id }) => String(id)],
    ['name', ({ name = '' }) => printable(name)],
    ['hosts', ({ hosts = [] }) => printable(hosts.join(', '), 60)],
    ['pull zone', ({ pullZone = '-' }) => String(pullZone)],
    ['plan', ({ plan = '-' }) => plan],
    ['WAF', ({ waf }) => (waf === undefined ? '-' : waf ? 'on' : 'off')],
    ['configured', ({ configured }) => (configured ? 'yes' : 'no')],
  ]
  const told = columns.filter(([, cell]) => rows.some((row) => cell(row) !== ''))
  const cells = rows.map((row) => told.map(([, cell]) => cell(row) || '-'))
  return tableLines(
    told.map(([title]) => title),
    cells,
    { width },
  )
}
