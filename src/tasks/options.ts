import { type PartsConfig, hasParts } from '../assemble/sink-files.ts'
import { dirname, resolve } from 'node:path'
import { servedBy } from '../formats/registry.ts'
import { InvalidArgumentError } from 'commander'
import { safeName } from '../fields/fields.ts'
import { systemClock } from '../clock.ts'
import { dayOf, parseDay, shiftDay, type Day } from '../domain/day.ts'
import { printable, firstOf, zoneText } from '../domain/text/terminal-text.ts'
import type { AccountConfig, Config, SinkConfig } from '../config/schema.ts'
import { nearest } from '../domain/text/nearest.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import { UsageError } from '../terminal/io.ts'
import { programName } from '../terminal/program-name.ts'

export const dayForms = 'YYYY-MM-DD in UTC, today, yesterday, or 7d for seven days ago'

/** Parses `2026-11-20`, `today`, `yesterday` or `7d`, in UTC. */
export function dayArgument(text: string): Day {
  const today = dayOf(systemClock.now())
  if (text === 'today') return today
  if (text === 'yesterday') return shiftDay(today, -1)
  if (/^\d{1,4}d$/.test(text)) return shiftDay(today, -Number.parseInt(text, 10))
  const day = parseDay(text)
  if (day !== undefined) return day
  const meant = monthFirst(text)
  const hint = meant === undefined ? `such as ${today}` : `here ${meant}`
  throw new InvalidArgumentError(
    `days are UTC and written YYYY-MM-DD, ${hint}, or today, yesterday, or 7d for seven days ago.`,
  )
}

/** The same for an option that may be repeated and takes comma lists; oldest first, without duplicates. */
export function collectDays(text: string, before: readonly Day[] = []): Day[] {
  const named = nameList(text)
  return [...new Set([...before, ...(named.length === 0 ? [text] : named).map(dayArgument)])].sort()
}

/** Parses `11-20-2026`, the API's own form of a day. */
function monthFirst(text: string): Day | undefined {
  const [, month, date, year] = /^(\d\d)[-/](\d\d)[-/](\d{4})$/.exec(text) ?? []
  return parseDay(`${year}-${month}-${date}`)
}

export function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('use a whole number.')
}

export function atLeastOne(text: string): number {
  const count = wholeNumber(text)
  if (count >= 1) return count
  throw new InvalidArgumentError('use a whole number of at least 1.')
}

export function idList(text: string): number[] {
  return nameList(text).map(wholeNumber)
}

export function nameList(text: string): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

/** For options that may be repeated and take comma lists. */
export function collectNames(text: string, before: readonly string[] = []): string[] {
  return [...before, ...nameList(text)]
}

/** The same characters that the configuration allows in a sink's name. */
export function sinkNameArgument(text: string): string {
  if (safeName.test(text)) return text
  throw new InvalidArgumentError('use at most 63 lower-case letters, digits, "_" and "-".')
}

const mostListed = 20

const shown = ({ id, name }: Zone) => zoneText(id, name)

/** Finds zones by ids or names, without duplicates; all zones where none is named. Throws UsageError. */
export function chooseZones({ zones }: Config, names: readonly string[] = []): readonly Zone[] {
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
  const names = zones.flatMap((zone) => [String(zone.id), zone.name])
  throw unknownName({ option: '--zone', name, what: 'is not configured', names, listed: zones.map(shown) })
}

/** Finds sinks by name, without duplicates; all sinks where none is named. Throws UsageError. */
export function chooseSinks(
  { sinks }: Config,
  names: readonly string[] = [],
  option = '--sink',
): SinkConfig[] {
  return names.length === 0 ? [...sinks] : [...new Set(names)].map((name) => named(option, name, sinks))
}

function named<Item extends { readonly name: string }>(
  option: string,
  name: string,
  all: readonly Item[],
  what = 'is not configured',
): Item {
  const found = all.find((each) => each.name === name)
  if (found !== undefined) return found
  throw unknownName({ option, name, what, names: all.map((each) => each.name) })
}

/** Options that select what the store keeps of days of routes. */
export interface StoredChoice {
  readonly sink?: readonly string[] | undefined
  readonly zone?: readonly string[] | undefined
  readonly day?: string | undefined
}

/** A sink or zone that left the configuration may have some, too. Throws UsageError for a name that neither knows. */
export function storedChoice<Kept extends Stream>(
  config: Config,
  all: readonly Kept[],
  { sink, zone, day }: StoredChoice,
): Kept[] {
  const zones = [...config.zones, ...all.map((each) => ({ id: each.zone, name: String(each.zone) }))]
  const sinks = [...config.sinks, ...all.map((each) => ({ name: each.sink }))]
  for (const name of sink ?? []) named('--sink', name, sinks, 'is not known')
  const ids = zone?.flatMap((name) => {
    const found = zones.filter((each) => each.name === name || String(each.id) === name)
    if (found.length > 0) return found.map(({ id }) => id)
    const names = zones.map(({ id }) => String(id))
    throw unknownName({ option: '--zone', name, what: 'is not known', names })
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
  if (name !== undefined) return named('--account', name, accounts)
  if (accounts.length === 1) return accounts[0]!
  const names = accounts.map((account) => account.name)
  throw new UsageError(`there are several accounts; choose one with --account: ${firstOf(names, mostListed)}`)
}

/** The sink with files or objects that --source names, or a copy of lines that it has cut, which `gaps list` names. Throws UsageError. */
export function sourceOf({ sinks }: Config, name: string): PartsConfig {
  const archives = sinks.filter(hasParts)
  const names = archives.map((sink) => sink.name)
  const files = archives.filter((sink) => sink.type === 'file')
  const keeper = files.find(({ path }) => dirname(resolve(name)) === resolve(path, '.shieldlog', 'aside'))
  const source =
    keeper === undefined ? archives.find((sink) => sink.name === name) : { ...keeper, name, path: name }
  if (source === undefined)
    throw unknownName({
      option: '--source',
      name,
      what: 'is no sink of files or objects that is configured',
      names,
    })
  if (servedBy(source).length === 0)
    throw new UsageError(
      `--source ${printable(name)} has format ${source.format}, and its lines do not contain whole events; use a sink with format native or raw that includes labels and log`,
    )
  return source
}

interface UnknownName {
  readonly option: string
  readonly name: string
  readonly what: string
  /** Those that there are. */
  readonly names: readonly string[]
  /** The same as they are shown, where that differs. */
  readonly listed?: readonly string[]
}

/** An error that names the nearest name that there is, and all of them. */
export function unknownName({ option, name, what, names, listed = names }: UnknownName): UsageError {
  const near = nearest(name, names)
  const hint = near === undefined ? '' : `; did you mean ${printable(near)}?`
  const all = [...new Set(listed)]
  const available = all.length === 0 ? 'none is available' : `available: ${firstOf(all, mostListed)}`
  const isId = option === '--zone' && near === undefined && /^\d+$/.test(name)
  const other = isId ? `; the id of a pull zone is another one: ${programName()} zones lists both` : ''
  return new UsageError(`${option} ${printable(name)} ${what}${hint}; ${available}${other}`)
}
