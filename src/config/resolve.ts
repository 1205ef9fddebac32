import type { Report } from './errors.ts'
import type { Config, ConfigFile, SinkConfig, AccountConfig, PollConfig, MetricsConfig } from './schema.ts'
import { resolveState } from './state.ts'
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Zone } from '../domain/stream.ts'
import { Secret } from '../domain/text/secret.ts'
import { type Path, pathText } from './errors.ts'
import { nearest } from '../domain/text/nearest.ts'

interface Resolution {
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
function resolveAccounts(
  { api: { accessKey }, zones, accounts }: ConfigFile,
  needs: Needs,
  report: Report,
): AccountConfig[] {
  const { key: needsKey, zones: needsZones } = required[needs]
  const isShort = accessKey !== undefined || isGiven(zones)
  if (isShort && accounts.length > 0)
    report(['accounts'], {
      problem: `cannot be used with ${accessKey === undefined ? 'zones' : 'api.accessKey'}, the short form of one account`,
      remedy: 'move the key and its zones into accounts',
    })
  const short = { name: 'default', accessKey, zones, at: [], keyAt: ['api', 'accessKey'] }
  const long = accounts.map((account, index) => {
    const at = ['accounts', index]
    return { ...account, at, keyAt: [...at, 'accessKey'] }
  })
  const names = new Set<string>()
  const claim: Claim = { names: new Map(), ids: new Map(), report }
  const all = isShort || long.length === 0 ? [short, ...long] : long
  const resolved = all.flatMap(({ name, accessKey: key, zones: own, at, keyAt }) => {
    if (names.has(name))
      report([...at, 'name'], {
        value: JSON.stringify(name),
        problem: 'is also the name of another account',
        remedy: 'give each account a different name',
      })
    names.add(name)
    const listed = zonesOf(own, name, [...at, 'zones'], claim)
    if (key === undefined && needsKey) report(keyAt, missingKey(at))
    if (key === undefined && (needsKey || (at.length === 0 && !isGiven(own)))) return []
    const given = key ?? Secret.unresolved(`${pathText(keyAt)} is missing`)
    return [{ name, accessKey: given, zones: listed, ...discoveryOf(own) }]
  })
  if (needsZones && !all.some((account) => isGiven(account.zones)))
    report(['zones'], {
      problem: 'lists no zone',
      remedy: 'list the ids of your shield zones or write all, here or as SHIELDLOG_ZONES=101,102',
    })
  return resolved
}

function missingKey(at: Path) {
  const here = 'set it or accessKeyFile, here or as SHIELDLOG_API_ACCESS_KEY or SHIELDLOG_API_ACCESS_KEY_FILE'
  return { problem: 'is missing', remedy: at.length === 0 ? here : 'set accessKey or accessKeyFile' }
}

interface Claim {
  readonly names: Map<string, string>
  readonly ids: Map<number, string>
  readonly report: Report
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

const scanDefaults = [0.5, 6, 24, 44]

/** Fills in the defaults that depend on readableDays. */
function resolvePoll(poll: ConfigFile['poll'], report: Report): PollConfig {
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

/** Finds the account of each application; one must be named where there are several. */
function resolveMetrics({ metrics, accounts }: ConfigFile, report: Report): MetricsConfig {
  const { uploadScanning, volumes } = metrics
  const known = accounts.length === 0 ? ['default'] : accounts.map(({ name }) => name)
  const seen = new Set<string>()
  const apps = (volumes?.apps ?? []).map((setting, index) => {
    const at = ['metrics', 'volumes', 'apps', index]
    const app: { id: string; account?: string | undefined } =
      typeof setting === 'string' ? { id: setting } : setting
    const { id, account } = app
    const value = JSON.stringify(id)
    if (seen.has(id)) report(at, { value, problem: 'is listed twice', remedy: 'name each application once' })
    seen.add(id)
    if (account === undefined && known.length > 1)
      report(at, {
        value,
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
  })
  return {
    ...(uploadScanning !== undefined && { uploadScanning }),
    ...(volumes !== undefined && { volumes: { ...volumes, apps } }),
  }
}
