import type { AccountConfig, Config } from '../config/schema.ts'
import type { Zone } from '../domain/stream.ts'
import type { FoundZone } from '../domain/zone-list.ts'

/** An account whose zones are those that the API lists. */
type DiscoveringAccount = AccountConfig & Required<Pick<AccountConfig, 'discovery'>>

export function discoveringIn({ accounts }: Config): DiscoveringAccount[] {
  return accounts.filter(isDiscovering)
}

/** The zones that the configuration itself names. */
export function namedZones({ accounts }: Config): Zone[] {
  return accounts.flatMap((account) => (isDiscovering(account) ? [] : account.zones))
}

/** For a zone that is not shipped: true where nothing but the list of the API can be the reason. */
export function isRetired(config: Config, zone: number): boolean {
  const discovering = discoveringIn(config)
  return discovering.length > 0 && discovering.every(({ discovery }) => !discovery.exclude.includes(zone))
}

type FoundByAccount = ReadonlyMap<string, { readonly zones: readonly FoundZone[] }>

/**
 * The configuration with the zones that were found, in the accounts that discover theirs. A zone belongs to one account:
 * to the one that names it, else to the first that lists it. Names that are not unique, or are ids of zones, are left
 * out, since `--zone` takes either.
 */
export function withZones(config: Config, found: FoundByAccount): Config {
  const named = namedZones(config)
  const names = new Set(named.map(({ name }) => name))
  const ids = new Set(named.map(({ id }) => id))
  const everyId = new Set([...ids, ...[...found.values()].flatMap(({ zones }) => zones.map(({ id }) => id))])
  const zonesOf = ({ name: account, discovery }: DiscoveringAccount): Zone[] =>
    (found.get(account)?.zones ?? []).flatMap(({ id, name }) => {
      if (ids.has(id) || discovery.exclude.includes(id)) return []
      const isUsable =
        name !== '' && name.length <= longestName && !names.has(name) && !everyId.has(Number(name))
      const zone = { id, name: isUsable ? name : String(id), account }
      ids.add(id)
      names.add(zone.name)
      return [zone]
    })
  const accounts = config.accounts.map((account) =>
    isDiscovering(account) ? { ...account, zones: zonesOf(account) } : account,
  )
  return { ...config, accounts, zones: accounts.flatMap((account) => account.zones) }
}

/** As of names in the configuration. */
const longestName = 100

function isDiscovering(account: AccountConfig): account is DiscoveringAccount {
  return account.discovery !== undefined
}
