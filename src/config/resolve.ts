import type { Report } from './errors.ts'
import type { Config, ConfigFile, SinkConfig, AccountConfig, PollConfig, MetricsConfig } from './schema.ts'
import { resolveState } from './state.ts'
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Zone } from '../domain/stream.ts'
import { Secret } from '../domain/text/secret.ts'
import { type Path, pathText } from './errors.ts'
import type { App } from '../domain/figures.ts'
import { nearest } from '../domain/text/nearest.ts'

export interface Resolution {
  readonly cwd: string
  readonly needs: Needs
  readonly serverConfigured: boolean
  readonly report: Report
}

/** Checks the dependencies between settings that are valid one by one; undefined after a report. */
export function resolveConfig(settings: ConfigFile, on: Resolution): Config | undefined {
  const { redact, workers, deadLetters, log } = settings
  const { accessKey: _key, accessKeyFile: _keyFile, ...api } = settings.api
  const { tokenFile: _tokenFile, ...server } = settings.server
  const accounts = resolveAccounts(settings, on.needs, on.report)
  const poll = resolvePoll(settings.poll, on.report)
  const state = resolveState(
    settings.state,
    { cwd: on.cwd, readableDays: settings.poll.readableDays },
    on.report,
  )
  checkSinks(settings.sinks, on.report)
  const metrics = resolveMetrics(settings, on.report)
  if (state === undefined) return undefined
  return {
    accounts,
    api,
    poll,
    redact,
    state,
    workers,
    sinks: settings.sinks.length === 0 ? [defaultSink] : settings.sinks,
    deadLetters,
    server: { ...server, configured: on.serverConfigured },
    metrics,
    log,
  }
}

export const defaultSink: SinkConfig = { type: 'stdout', name: 'stdout', format: 'native' }

/**
 * What a command requires: zones, a key of the API, and whose secrets. A second shell seldom has those of all sections,
 * so a command may only ask for what it uses.
 * - `zones`: the process that ships unattended, and `check`. All that is configured.
 * - `delivery`: events are read from the API and delivered.
 * - `comparison`: events are read from the API and compared with the store.
 * - `events`: events are read from the API and shown.
 * - `key`: another operation of the API.
 * - `sinks`: events of the store are delivered.
 * - `routes`: the store is read, by zone. `state`: the same without zones.
 * - `nothing`: the configuration alone.
 */
export type Needs =
  'zones' | 'delivery' | 'comparison' | 'events' | 'key' | 'sinks' | 'routes' | 'state' | 'nothing'

interface Required {
  readonly zones: boolean
  readonly key: boolean
  /** Sections whose secrets must be readable. */
  readonly secretsOf: readonly string[] | 'all'
}

const api = ['api', 'accounts'] as const

const required: Readonly<Record<Needs, Required>> = {
  zones: { zones: true, key: true, secretsOf: 'all' },
  delivery: { zones: true, key: true, secretsOf: [...api, 'state', 'sinks'] },
  comparison: { zones: true, key: true, secretsOf: [...api, 'state'] },
  events: { zones: true, key: true, secretsOf: api },
  key: { zones: false, key: true, secretsOf: api },
  sinks: { zones: false, key: false, secretsOf: ['state', 'sinks'] },
  routes: { zones: true, key: false, secretsOf: ['state'] },
  state: { zones: false, key: false, secretsOf: ['state'] },
  nothing: { zones: false, key: false, secretsOf: [] },
}

/** Whether a command uses the secrets of a section. */
export function usesSecretsOf(section: string, needs: Needs): boolean {
  const { secretsOf } = required[needs]
  return secretsOf === 'all' || secretsOf.includes(section)
}

/** Converts both forms of accounts into one. */
export function resolveAccounts(
  { api: { accessKey }, zones, accounts }: ConfigFile,
  needs: Needs,
  report: Report,
): AccountConfig[] {
  if (accounts.length > 0 && (accessKey !== undefined || isGiven(zones)))
    report(['accounts'], {
      problem: `cannot be used with ${accessKey === undefined ? 'zones' : 'api.accessKey'}, the short form of one account`,
      remedy: 'move the key and its zones into accounts',
    })
  const mayLack = !required[needs].key
  const claim: Claim = { names: new Map(), ids: new Map(), mayLack, report }
  const resolved: AccountConfig[] = []
  const short = zonesOf(zones, 'default', ['zones'], claim)
  const key = accessKey ?? (mayLack && isGiven(zones) ? lackingKey('api.accessKey') : undefined)
  if (key !== undefined)
    resolved.push({ name: 'default', accessKey: key, zones: short, ...discoveryOf(zones) })
  resolved.push(...longForm(accounts, claim))
  const hasZones = isGiven(zones) || accounts.some((account) => isGiven(account.zones))
  const given = { key: accessKey !== undefined || accounts.length > 0, zones: hasZones }
  reportMissing(given, needs, report)
  return resolved
}

interface Claim {
  readonly names: Map<string, string>
  readonly ids: Map<number, string>
  /** Accounts may be without a key. */
  readonly mayLack: boolean
  readonly report: Report
}

function longForm(accounts: ConfigFile['accounts'], claim: Claim): AccountConfig[] {
  const resolved: AccountConfig[] = []
  const seen = new Set<string>()
  accounts.forEach((account, index) => {
    const at = ['accounts', index]
    const { name, accessKey } = account
    if (seen.has(name))
      claim.report([...at, 'name'], {
        value: JSON.stringify(name),
        problem: 'is also the name of another account',
        remedy: 'give each account a different name',
      })
    seen.add(name)
    const zones = zonesOf(account.zones, name, [...at, 'zones'], claim)
    const key = accessKey ?? (claim.mayLack ? lackingKey(pathText([...at, 'accessKey'])) : undefined)
    if (key !== undefined) resolved.push({ name, accessKey: key, zones, ...discoveryOf(account.zones) })
    else
      claim.report([...at, 'accessKey'], {
        problem: 'is missing',
        remedy: 'set accessKey or accessKeyFile',
      })
  })
  return resolved
}

function lackingKey(path: string): Secret {
  return Secret.unresolved(`${path} is missing`)
}

function isGiven(zones: ConfigFile['zones']): boolean {
  return !Array.isArray(zones) || zones.length > 0
}

function discoveryOf(zones: ConfigFile['zones']): Pick<AccountConfig, 'discovery'> {
  if (zones === 'all') return { discovery: { exclude: [], everyMinutes: 15 } }
  if (Array.isArray(zones)) return {}
  const { exclude, everyMinutes } = zones
  return { discovery: { exclude, everyMinutes } }
}

function zonesOf(
  settings: ConfigFile['zones'],
  account: string,
  at: Path,
  { names, ids, report }: Claim,
): Zone[] {
  const zones: Zone[] = []
  if (!Array.isArray(settings)) return zones
  settings.forEach((setting, index) => {
    const place = [...at, index]
    const id = typeof setting === 'number' ? setting : setting.id
    const name = typeof setting === 'number' ? String(id) : (setting.name ?? String(id))
    const other = ids.get(id)
    const namesake = names.get(name)
    if (other !== undefined)
      report(place, {
        value: String(id),
        problem: `is also listed as ${other}`,
        remedy: 'list each zone once, in one account',
      })
    else if (namesake !== undefined)
      report(place, {
        value: JSON.stringify(name),
        problem: `is also the name or id of ${namesake}`,
        remedy: 'give each zone a different name, which is not the id of another zone',
      })
    ids.set(id, pathText(place))
    names.set(name, pathText(place))
    zones.push({ id, name, account })
  })
  return zones
}

function reportMissing(given: { key: boolean; zones: boolean }, needs: Needs, report: Report): void {
  if (!given.key && required[needs].key)
    report(['api', 'accessKey'], {
      problem: 'is missing',
      remedy: 'set it or accessKeyFile, here or as SHIELDLOG_API_ACCESS_KEY or SHIELDLOG_API_ACCESS_KEY_FILE',
    })
  if (!given.zones && required[needs].zones)
    report(['zones'], {
      problem: 'lists no zone',
      remedy: 'list the ids of your shield zones or write all, here or as SHIELDLOG_ZONES=101,102',
    })
}

const scanDefaults = [0.5, 6, 24, 44]

/** Fills in the defaults that depend on readableDays. */
export function resolvePoll(poll: ConfigFile['poll'], report: Report): PollConfig {
  const { readableDays, firstRunDays = readableDays, settleAfterHours } = poll
  // The last full hour at which a day can still be read again to its end.
  const end = (readableDays - 1) * 24 - 1
  if (firstRunDays > readableDays)
    report(['poll', 'firstRunDays'], {
      value: String(firstRunDays),
      problem: `is greater than readableDays (${readableDays})`,
      remedy: `set it to ${readableDays} or less; the API does not answer for older days`,
    })
  settleAfterHours?.forEach((hours, index) => {
    if (hours >= end)
      report(['poll', 'settleAfterHours', index], {
        value: String(hours),
        problem: `is too late: with readableDays ${readableDays} the API answers for less than ${end} hours after the end of a day`,
        remedy: `set it to less than ${end}`,
      })
  })
  if (settleAfterHours?.length === 0)
    report(['poll', 'settleAfterHours'], {
      problem: 'is empty, so late events would be missed',
      remedy: `set at least one number of hours below ${end}`,
    })
  const hours = settleAfterHours ?? scanDefaults.filter((one) => one < end)
  return { ...poll, firstRunDays, settleAfterHours: [...new Set(hours)].sort((a, b) => a - b) }
}

/** What is known of a sink whose settings may be wrong. */
interface SinkSettings {
  readonly name?: unknown
  readonly type?: unknown
  readonly path?: unknown
}

/** Checks that no two sinks share a name or a folder. */
export function checkSinks(sinks: readonly SinkSettings[], report: Report): void {
  const names = new Set<unknown>()
  const folders = new Map<string, string>()
  sinks.forEach(({ name, type, path }, index) => {
    if (typeof name !== 'string') return
    if (names.has(name))
      report(['sinks', index, 'name'], {
        value: JSON.stringify(name),
        problem: 'is also the name of another sink',
        remedy: 'give each sink a different name',
      })
    names.add(name)
    if (type !== 'file' || typeof path !== 'string') return
    const folder = realFolder(path)
    const other = folders.get(folder)
    if (other !== undefined)
      report(['sinks', index, 'path'], {
        value: JSON.stringify(path),
        problem: `is also the path of sink ${other}`,
        remedy: 'give each file sink a different path',
      })
    folders.set(folder, name)
  })
}

/** The folder with links followed, as far as it exists. */
export function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realFolder(parent), basename(path))
  }
}

/** The name of the account that api.accessKey and zones stand for. */
const shortForm = 'default'

/** Finds the account of each application; one must be named where there are several. */
export function resolveMetrics({ metrics, accounts }: ConfigFile, report: Report): MetricsConfig {
  const { uploadScanning, volumes } = metrics
  const known = accounts.length === 0 ? [shortForm] : accounts.map(({ name }) => name)
  const claim: AppClaim = { known, ids: new Set(), report }
  const apps = (volumes?.apps ?? []).map((setting, index) =>
    appOf(
      typeof setting === 'string' ? { id: setting } : setting,
      ['metrics', 'volumes', 'apps', index],
      claim,
    ),
  )
  return {
    ...(uploadScanning !== undefined && { uploadScanning }),
    ...(volumes !== undefined && { volumes: { ...volumes, apps } }),
  }
}

interface AppClaim {
  readonly known: readonly string[]
  readonly ids: Set<string>
  readonly report: Report
}

function appOf(
  { id, account }: { readonly id: string; readonly account?: string | undefined },
  at: Path,
  { known, ids, report }: AppClaim,
): App {
  if (ids.has(id))
    report(at, {
      value: JSON.stringify(id),
      problem: 'is listed twice',
      remedy: 'name each application once',
    })
  ids.add(id)
  if (account === undefined && known.length > 1)
    report(at, {
      value: JSON.stringify(id),
      problem: 'names no account, and there are several',
      remedy: `write { id: ${id}, account: NAME }, with one of: ${known.join(', ')}`,
    })
  if (account !== undefined && !known.includes(account)) {
    const near = nearest(account, known)
    report([...at, 'account'], {
      value: JSON.stringify(account),
      problem: 'is not the name of an account',
      remedy: near === undefined ? `write one of: ${known.join(', ')}` : `did you mean ${near}?`,
    })
  }
  return { id, account: account ?? known[0]! }
}
