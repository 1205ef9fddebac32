import { Failure, isFailure } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { firstOf } from '../domain/text/terminal-text.ts'
import type { Source } from '../ports/delivery.ts'
import type { ShieldClient } from '../shield/client/client.ts'
import { listShieldZones, type ListedZone } from '../shield/shield-zones.ts'

/** The zones of an account, or why they could not be listed. */
export type AccountZones =
  | { readonly account: string; readonly zones: readonly ListedZone[] }
  | { readonly account: string; readonly failure: Failure }

/** Lists the shield zones of accounts. Throws only `cancelled`, and bugs. */
type ListAccounts = (
  accounts: readonly { readonly name: string }[],
  signal: AbortSignal,
) => Promise<AccountZones[]>

export function listZones(clientOf: (account: string) => ShieldClient): ListAccounts {
  return (accounts, signal) =>
    Promise.all(
      accounts.map(async ({ name: account }) => {
        try {
          return { account, zones: await listShieldZones(clientOf(account), signal) }
        } catch (failure) {
          if (!isFailure(failure) || failure.kind === 'cancelled') throw failure
          return { account, failure: unlisted(account, failure) }
        }
      }),
    )
}

/** Replaces the name of the operation in a failure by what cannot be done. */
export function unlisted(account: string, { kind, code, message, details }: Failure): Failure {
  const why = message.replace(`shield_zones of account ${account}: `, '')
  return new Failure(kind, code, `the zones of account ${account} cannot be listed: ${why}`, details)
}

const mostNamed = 20

/** A source whose failure for a zone that the API does not know names the zone and, from a listing, the one meant. */
export function explainingZones(source: Source, list: ListAccounts): Source {
  const listings = new Map<string, Promise<AccountZones | undefined>>()
  const listingOf = (name: string, signal: AbortSignal) => {
    const listing = listings.get(name) ?? list([{ name }], signal).then(([own]) => own)
    listings.set(name, listing)
    return listing
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
  const named = ids.length === 0 ? '' : `; it lists ${firstOf(ids, mostNamed)}`
  return `${what}${named}; remove it from zones, or list it under the account that owns it`
}

/** What the id of a pull zone is taken for; undefined for any other id. */
export function meantZone(id: number, listed: readonly ListedZone[]): string | undefined {
  const owner = listed.find(({ pullZone }) => pullZone === id)
  return owner && `${id} is the pull zone of shield zone ${owner.id}; write ${owner.id} in its place`
}
