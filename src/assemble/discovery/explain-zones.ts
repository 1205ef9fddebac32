import type { Config } from '../../config/schema/schema.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Source } from '../../ports/source.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'
import type { QuietRuntime } from '../quiet-runtime.ts'
import { listAccounts, type AccountZones } from './list-zones.ts'

const mostNamed = 20

/** A source whose failure for a zone that the API does not know names the zone and, from a listing, the one meant. */
export function explainingZones(source: Source, config: Config, runtime: QuietRuntime): Source {
  const listings = new Map<string, Promise<AccountZones | undefined>>()
  const listingOf = (name: string, signal: AbortSignal) => {
    const accounts = config.accounts.filter((account) => account.name === name)
    const known =
      listings.get(name) ?? listAccounts(config, { runtime, accounts }, signal).then(([own]) => own)
    listings.set(name, known)
    return known
  }
  return {
    ...source,
    async fetchPage(request, signal) {
      try {
        return await source.fetchPage(request, signal)
      } catch (error) {
        if (!isFailure(error, 'zone_gone')) throw error
        const listing = await listingOf(request.zone.account, signal)
        const listed = listing !== undefined && 'zones' in listing ? listing.zones : undefined
        throw new Failure(error.kind, error.code, unknownZoneText(request.zone, listed), {
          ...error.details,
          cause: error,
        })
      }
    },
  }
}

function unknownZoneText({ id, account }: Zone, listed: readonly ListedZone[] | undefined): string {
  const what = `the API does not know zone ${id} for account ${account}`
  const meant = listed && meantZone(id, listed)
  if (meant !== undefined) return `${what}: ${meant}`
  const ids = (listed ?? []).map((zone) => zone.id)
  const more = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : ''
  const named = ids.length === 0 ? '' : `; it lists ${ids.slice(0, mostNamed).join(', ')}${more}`
  return `${what}${named}; remove it from zones, or list it under the account that owns it`
}

/** What the id of a pull zone is taken for; undefined for any other id. */
export function meantZone(id: number, listed: readonly ListedZone[]): string | undefined {
  const owner = listed.find(({ pullZone }) => pullZone === id)
  return owner && `${id} is the pull zone of shield zone ${owner.id}; write ${owner.id} in its place`
}
