import type { FoundZone } from '../../domain/zone-list.ts'
import type { Definitions } from '../definition.ts'
import { countPhrase } from '../phrases.ts'

const mostNamed = 20

export const zoneInternalEvents: Definitions<
  'ZonesListed' | 'ZonesFound' | 'ZonesLeft' | 'ZonesRetired' | 'ZoneListingFailed'
> = {
  ZonesListed: {
    level: 'debug',
    meaning: 'With `zones: all`: the API listed the zones of an account.',
    tell({ account, zones }, voice) {
      voice.conditions.end('ZoneListingFailed', account)
      voice.conditions.retain((zone, sink) => voice.isConfigured(zone, sink))
      voice.detail(() => [
        `account ${account}: the API lists ${countPhrase(zones, 'zone')}`,
        { account, zones },
      ])
    },
  },
  ZonesFound: {
    level: 'info',
    meaning:
      'With `zones: all`: the API lists zones that it did not list before. They are shipped from now on.',
    tell({ account, zones }, voice) {
      voice.line('info', `account ${account}: ships ${namesOf(zones)}, listed by the API`, {
        account,
        zones: idsOf(zones),
      })
    },
  },
  ZonesLeft: {
    level: 'warn',
    meaning:
      'With `zones: all`: the API no longer lists these zones. shieldlog reads them until the API no longer answers for their days.',
    tell({ account, zones }, voice) {
      const text = `${namesOf(zones)} ${are(zones)} no longer listed by the API; shieldlog reads what the API still has of ${zones.length === 1 ? 'it' : 'them'}`
      voice.line('warn', `account ${account}: ${text}`, { account, zones: idsOf(zones) })
    },
  },
  ZonesRetired: {
    level: 'warn',
    meaning:
      'With `zones: all`: shieldlog stops reading zones that the API no longer lists, because the API no longer knows them or has no events of them left. Days that were not read to their end become gaps (`zone_gone`).',
    tell({ account, zones, gaps }, voice) {
      const lost = gaps === 0 ? 'all events were read' : `${countPhrase(gaps, 'gap')} recorded`
      const text = `${namesOf(zones)} ${are(zones)} retired: no longer listed by the API; ${lost}`
      voice.line('warn', `account ${account}: ${text}`, { account, zones: idsOf(zones), gaps })
    },
  },
  ZoneListingFailed: {
    level: 'warn',
    meaning:
      'With `zones: all`: the zones of an account could not be listed. shieldlog ships the zones of the last list; without a list it ships nothing of this account (level error). It tries again every 30 s.',
    tell({ account, failure, known }, voice) {
      const means =
        known === undefined
          ? 'nothing of this account is shipped'
          : `shieldlog ships the ${countPhrase(known, 'zone')} of the last list`
      voice.report({
        group: account,
        level: known === undefined ? 'error' : 'warn',
        message: `${failure.message}; ${means}`,
        about: `the zones of account ${account} cannot be listed`,
        fields: { account },
        details: { code: failure.code, known },
        hasEnd: true,
      })
    },
  },
}

function namesOf(zones: readonly FoundZone[]): string {
  const named = zones
    .slice(0, mostNamed)
    .map(({ id, name }) => (name === '' || name === String(id) ? String(id) : `${id} (${name})`))
  const more = zones.length > mostNamed ? ` and ${zones.length - mostNamed} more` : ''
  return `${zones.length === 1 ? 'zone' : 'zones'} ${named.join(', ')}${more}`
}

function are(zones: readonly FoundZone[]): string {
  return zones.length === 1 ? 'is' : 'are'
}

function idsOf(zones: readonly FoundZone[]): number[] {
  return zones.map(({ id }) => id)
}
