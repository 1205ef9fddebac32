import { printable } from '../domain/text/printable.ts'
import type { AccountConfig, Config, SinkConfig } from '../config/schema/schema.ts'
import { nearest } from '../domain/text/nearest.ts'
import type { Zone } from '../domain/stream.ts'
import { UsageError } from './registration.ts'
import { zoneText } from './terminal/zone-text.ts'

const mostListed = 20

const shown = ({ id, name }: Zone) => zoneText(id, name)

/** Finds zones by ids or names, without duplicates; all zones where none is named. Throws UsageError. */
export function chooseZones({ accounts }: Config, names: readonly string[] = []): Zone[] {
  const zones = accounts.flatMap((account) => account.zones)
  if (names.length === 0) return zones
  return [...new Set(names.map((name) => zoneOf(name, zones)))]
}

function zoneOf(name: string, zones: readonly Zone[]): Zone {
  const byId = zones.find(({ id }) => String(id) === name)
  if (byId !== undefined) return byId
  const named = zones.filter((zone) => zone.name === name)
  if (named.length === 1) return named[0]!
  if (named.length > 1)
    throw new UsageError(
      `--zone ${printable(name)} is the name of ${named.map(shown).join(' and ')}; use the id`,
    )
  const known = zones.flatMap((zone) => [String(zone.id), zone.name])
  throw unknownName({ option: '--zone', name, what: 'is not configured', known, listed: zones.map(shown) })
}

/** Finds sinks by name, without duplicates; all sinks where none is named. Throws UsageError. */
export function chooseSinks({ sinks }: Config, names: readonly string[] = []): SinkConfig[] {
  if (names.length === 0) return [...sinks]
  const known = sinks.map(({ name }) => name)
  return [...new Set(names)].map((name) => {
    const sink = sinks.find((each) => each.name === name)
    if (sink === undefined) throw unknownName({ option: '--sink', name, what: 'is not configured', known })
    return sink
  })
}

/** Finds the account by name, or the only one. Throws UsageError. */
export function chooseAccount({ accounts }: Config, name: string | undefined): AccountConfig {
  const known = accounts.map((account) => account.name)
  if (name === undefined) {
    if (accounts.length === 1) return accounts[0]!
    throw new UsageError(`there are several accounts; choose one with --account: ${list(known)}`)
  }
  const account = accounts.find((each) => each.name === name)
  if (account === undefined)
    throw unknownName({ option: '--account', name, what: 'is not configured', known })
  return account
}

export interface UnknownName {
  readonly option: string
  readonly name: string
  readonly what: string
  readonly known: readonly string[]
  /** The known names as they are shown, where that differs. */
  readonly listed?: readonly string[]
}

/** An error that names the nearest known name and all known names. */
export function unknownName({ option, name, what, known, listed = known }: UnknownName): UsageError {
  const near = nearest(name, known)
  const hint = near === undefined ? '' : `; did you mean ${printable(near)}?`
  const all = listed.length === 0 ? 'none is available' : `available: ${list(listed)}`
  return new UsageError(`${option} ${printable(name)} ${what}${hint}; ${all}`)
}

function list(names: readonly string[]): string {
  const more = names.length - mostListed
  const told = names.slice(0, mostListed).map((name) => printable(name, 100))
  return `${told.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
