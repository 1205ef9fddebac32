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

/** Options that select what the store keeps of days of routes. */
export interface StoredChoice {
  readonly sink?: readonly string[] | undefined
  readonly zone?: readonly string[] | undefined
  readonly day?: string | undefined
}

/**
 * Applies the options to what the store keeps. A sink or zone that left the configuration may still have some of it.
 * Throws UsageError for a name that is neither configured nor in the store.
 */
export function storedChoice<
  Kept extends { readonly zone: number; readonly sink: string; readonly day: string },
>(config: Config, all: readonly Kept[], { sink, zone, day }: StoredChoice): Kept[] {
  const zones = config.accounts.flatMap((account) => account.zones)
  const sinks = new Set([...config.sinks.map(({ name }) => name), ...all.map((each) => each.sink)])
  for (const name of sink ?? [])
    if (!sinks.has(name))
      throw unknownName({ option: '--sink', name, what: 'is not known', known: [...sinks] })
  const ids = zone?.flatMap((name) => {
    const known = zones.filter((each) => each.name === name || String(each.id) === name).map(({ id }) => id)
    const kept = all.filter((each) => String(each.zone) === name).map((each) => each.zone)
    const found = [...known, ...kept]
    if (found.length > 0) return found
    const names = [...zones.map(({ id }) => String(id)), ...all.map((each) => String(each.zone))]
    throw unknownName({ option: '--zone', name, what: 'is not known', known: [...new Set(names)] })
  })
  return all.filter(
    (each) =>
      (sink === undefined || sink.includes(each.sink)) &&
      (ids === undefined || ids.includes(each.zone)) &&
      (day === undefined || day === each.day),
  )
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
