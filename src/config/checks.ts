import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type * as z from 'zod'
import type { Secret } from '../domain/secret.ts'
import type { Zone } from '../domain/stream.ts'
import type { Complaint } from './issues.ts'
import { type Path, pathText } from './path.ts'
import type {
  AccountConfig,
  AccountSetting,
  ConfigFile,
  PollConfig,
  SinkConfig,
  ZoneSetting,
} from './schema.ts'

/** What a command cannot do without: zones and their keys, a key alone, or nothing of the API. */
export type Needs = 'zones' | 'key' | 'nothing'

export type Report = (path: Path, complaint: Complaint) => undefined

export interface AccountSources {
  readonly accessKey: Secret | undefined
  /** The key was given, even where it could not be read. */
  readonly keyGiven: boolean
  readonly zones: readonly (z.output<typeof ZoneSetting> | undefined)[]
  readonly accounts: readonly (z.output<typeof AccountSetting> | undefined)[]
}

/** Both forms of accounts → one. Holes in the lists are items that were reported before. */
export function resolveAccounts(from: AccountSources, needs: Needs, report: Report): AccountConfig[] {
  const { accessKey, keyGiven, zones, accounts } = from
  if (accounts.length > 0 && (keyGiven || zones.length > 0))
    report(['accounts'], {
      problem: `stands beside ${keyGiven ? 'api.accessKey' : 'zones'}, the short form of one account`,
      remedy: 'keep one form: move the key and its zones into accounts',
    })
  const names = new Map<string, string>()
  const ids = new Map<number, string>()
  const claim: Claim = { names, ids, report }
  const resolved: AccountConfig[] = []
  const short = zonesOf(zones, 'default', ['zones'], claim)
  if (accessKey !== undefined) resolved.push({ name: 'default', accessKey, zones: short })
  resolved.push(...longForm(accounts, claim))
  const given = { key: keyGiven || accounts.length > 0, zones: zones.length + countZones(accounts) > 0 }
  reportMissing(given, needs, report)
  return resolved
}

interface Claim {
  readonly names: Map<string, string>
  readonly ids: Map<number, string>
  readonly report: Report
}

function longForm(accounts: AccountSources['accounts'], claim: Claim): AccountConfig[] {
  const resolved: AccountConfig[] = []
  const seen = new Set<string>()
  accounts.forEach((account, index) => {
    if (account === undefined) return
    const at = ['accounts', index]
    const { name, accessKey } = account
    if (seen.has(name))
      claim.report([...at, 'name'], {
        value: JSON.stringify(name),
        problem: 'is the name of another account too',
        remedy: 'give each account a name of its own',
      })
    seen.add(name)
    const zones = zonesOf(account.zones, name, [...at, 'zones'], claim)
    if (accessKey !== undefined) resolved.push({ name, accessKey, zones })
    else
      claim.report([...at, 'accessKey'], {
        problem: 'is missing',
        remedy: 'give accessKey or accessKeyFile',
      })
  })
  return resolved
}

function zonesOf(
  settings: AccountSources['zones'],
  account: string,
  at: Path,
  { names, ids, report }: Claim,
): Zone[] {
  const zones: Zone[] = []
  settings.forEach((setting, index) => {
    if (setting === undefined) return
    const place = [...at, index]
    const id = typeof setting === 'number' ? setting : setting.id
    const name = typeof setting === 'number' ? String(id) : (setting.name ?? String(id))
    const other = ids.get(id)
    const namesake = names.get(name)
    if (other !== undefined)
      report(place, {
        value: String(id),
        problem: `is the zone of ${other} too`,
        remedy: 'name each zone once, in one account',
      })
    else if (namesake !== undefined)
      report(place, {
        value: JSON.stringify(name),
        problem: `is the name of ${namesake} too`,
        remedy: 'give each zone a name of its own, and none the id of another',
      })
    ids.set(id, pathText(place))
    names.set(name, pathText(place))
    zones.push({ id, name, account })
  })
  return zones
}

function countZones(accounts: AccountSources['accounts']): number {
  return accounts.flatMap((account) => account?.zones ?? [undefined]).length
}

function reportMissing(given: { key: boolean; zones: boolean }, needs: Needs, report: Report): void {
  if (needs === 'nothing') return
  if (!given.key)
    report(['api', 'accessKey'], {
      problem: 'is missing',
      remedy: 'set it or accessKeyFile, here or as SHIELDLOG_API_ACCESS_KEY or SHIELDLOG_API_ACCESS_KEY_FILE',
    })
  if (!given.zones && needs === 'zones')
    report(['zones'], {
      problem: 'names no zone',
      remedy: 'list the ids of your shield zones, here or as SHIELDLOG_ZONES=101,102',
    })
}

const sweepDefaults = [0.5, 6, 24, 44]

/** Fills in what depends on readableDays. `good` is false for a place that was reported before. */
export function resolvePoll(
  poll: ConfigFile['poll'],
  report: Report,
  good: (path: Path) => boolean,
): PollConfig {
  const { readableDays, firstRunDays = readableDays, sweepAfterHours } = poll
  // The last full hour at which a day is read again and can still be read to its end.
  const end = (readableDays - 1) * 24 - 1
  const comparable = good(['poll', 'readableDays'])
  if (comparable && firstRunDays > readableDays)
    report(['poll', 'firstRunDays'], {
      value: String(firstRunDays),
      problem: `is more than readableDays (${readableDays})`,
      remedy: `write ${readableDays} or less; older days cannot be read`,
    })
  sweepAfterHours?.forEach((hours, index) => {
    if (comparable && hours >= end)
      report(['poll', 'sweepAfterHours', index], {
        value: String(hours),
        problem: `never comes due: with readableDays ${readableDays} a day can be read again for less than ${end} hours after its end`,
        remedy: `write less than ${end}`,
      })
  })
  if (sweepAfterHours?.length === 0)
    report(['poll', 'sweepAfterHours'], {
      problem: 'is empty, so that late events would be missed',
      remedy: `give at least one number of hours below ${end}`,
    })
  const hours = sweepAfterHours ?? sweepDefaults.filter((one) => one < end)
  return { ...poll, firstRunDays, sweepAfterHours: [...new Set(hours)].sort((a, b) => a - b) }
}

/** Names and folders that two sinks would share. */
export function checkSinks(sinks: readonly (SinkConfig | undefined)[], report: Report): void {
  const names = new Set<string>()
  const folders = new Map<string, string>()
  sinks.forEach((sink, index) => {
    if (sink === undefined) return
    if (names.has(sink.name))
      report(['sinks', index, 'name'], {
        value: JSON.stringify(sink.name),
        problem: 'is the name of another sink too',
        remedy: 'give each sink a name of its own',
      })
    names.add(sink.name)
    if (sink.type !== 'file') return
    const folder = realFolder(sink.path)
    const other = folders.get(folder)
    if (other !== undefined)
      report(['sinks', index, 'path'], {
        value: JSON.stringify(sink.path),
        problem: `is the folder of sink ${other} too`,
        remedy: 'give each file sink a folder of its own',
      })
    folders.set(folder, sink.name)
  })
}

/** The folder with links followed, as far as it exists already. */
function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realFolder(parent), basename(path))
  }
}
