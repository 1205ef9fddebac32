import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Zone } from '../domain/stream.ts'
import { Secret } from '../domain/text/secret.ts'
import { refusedChoice } from './complaints.ts'
import { type Path, pathText, type Report } from './errors.ts'
import { requiredBy, usesSecretsOf } from './needs.ts'
import type { Reading } from './reading.ts'
import type {
  AccountConfig,
  Config,
  ConfigFile,
  MetricsConfig,
  PlaceConfig,
  PollConfig,
  SinkConfig,
} from './schema.ts'
import { isPlainObject } from './shape.ts'
import { resolveState } from './state.ts'

/** Checks the dependencies between settings that are valid one by one; undefined after a report. */
export function resolveConfig(settings: ConfigFile, reading: Reading): Config | undefined {
  const { redact, workers, deadLetters, log, sinks } = settings
  const { accessKey: _key, accessKeyFile: _keyFile, ...api } = settings.api
  const { tokenFile: _tokenFile, ...server } = settings.server
  const { report, written } = reading
  const given = isPlainObject(written) ? written['server'] : undefined
  const state = resolveState(settings.state, settings.poll.readableDays, reading)
  checkAddressKey(redact, reading)
  const rest = {
    accounts: resolveAccounts(settings, reading),
    api,
    poll: resolvePoll(settings.poll, report),
    redact,
    workers,
    sinks: sinks.length === 0 ? [defaultSink] : sinks,
    deadLetters,
    server: { ...server, configured: isPlainObject(given) && Object.keys(given).length > 0 },
    metrics: resolveMetrics(settings, report),
    notify: resolvePlaces(settings.notify, report),
    ...resolveHeartbeat(settings.heartbeat),
    log,
  }
  return state && { ...rest, state }
}

/** A short key could be guessed, and with it every address. */
const shortestKey = 16

function checkAddressKey(redact: ConfigFile['redact'], { needs, report }: Reading): void {
  if (redact === 'off' || redact.addresses !== 'hash') return
  const { addressKey } = redact
  const at = ['redact', 'addressKey']
  const remedy = `set addressKey or addressKeyFile to at least ${shortestKey} random characters`
  if (addressKey === undefined && usesSecretsOf('redact', needs))
    report(at, { problem: 'is missing, although addresses is hash', remedy })
  if (addressKey?.isResolved === true && addressKey.reveal().length < shortestKey)
    report(at, { problem: 'is too short', remedy })
}

const pagerdutyUrl = 'https://events.pagerduty.com/v2/enqueue'

function resolvePlaces(places: ConfigFile['notify'], report: Report): PlaceConfig[] {
  const named = places.map(({ name }, index) => ({ at: ['notify', index, 'name'], value: name }))
  refuseRepeated(named, 'give each place a different name', report)
  return places.map(({ name, kind, url, routingKey }, index) => {
    const isPagerduty = kind === 'pagerduty'
    const missing = isPagerduty ? routingKey === undefined && 'routingKey' : url === undefined && 'url'
    if (missing !== false)
      report(['notify', index, missing], {
        problem: 'is missing',
        remedy: `set ${missing} or ${missing}File`,
      })
    if (!isPagerduty && routingKey !== undefined)
      report(['notify', index, 'routingKey'], { problem: `is not used by ${kind}`, remedy: 'remove it' })
    return {
      name,
      kind,
      url: url ?? new Secret(pagerdutyUrl),
      ...(routingKey !== undefined && { routingKey }),
    }
  })
}

function resolveHeartbeat({ url, everyMinutes }: ConfigFile['heartbeat']): Pick<Config, 'heartbeat'> {
  return url === undefined ? {} : { heartbeat: { url, everyMinutes } }
}

export const defaultSink: SinkConfig = { type: 'stdout', name: 'stdout', format: 'native' }

interface Named {
  readonly at: Path
  readonly value: unknown
  /** What must be unique, where that is not the value. */
  readonly key?: unknown
}

function refuseRepeated(named: readonly Named[], remedy: string, report: Report): void {
  const places = new Map<unknown, Path>()
  for (const { at, value, key = value } of named) {
    const first = places.get(key)
    if (first === undefined) places.set(key, at)
    else report(at, { value: JSON.stringify(value), problem: `is the same as ${pathText(first)}`, remedy })
  }
}

/** Converts both forms of accounts into one. */
function resolveAccounts(
  { api: { accessKey }, zones, accounts }: ConfigFile,
  { needs, report }: Reading,
): AccountConfig[] {
  const { key: needsKey = false, zones: needsZones = false } = requiredBy(needs)
  const isShort = accessKey !== undefined || isGiven(zones)
  if (isShort && accounts.length > 0)
    report(['accounts'], {
      problem: `cannot be used with ${accessKey === undefined ? 'zones' : 'api.accessKey'}, the short form of one account`,
      remedy: 'move the key and its zones into accounts',
    })
  const here = 'set it or accessKeyFile, here or as SHIELDLOG_API_ACCESS_KEY or SHIELDLOG_API_ACCESS_KEY_FILE'
  const short = { name: 'default', accessKey, zones, at: [], keyAt: ['api', 'accessKey'], remedy: here }
  const long = accounts.map((account, index) => {
    const at = ['accounts', index]
    return { ...account, at, keyAt: [...at, 'accessKey'], remedy: 'set accessKey or accessKeyFile' }
  })
  const all = isShort || long.length === 0 ? [short, ...long] : long
  const named = all.map(({ at, name }) => ({ at: [...at, 'name'], value: name }))
  refuseRepeated(named, 'give each account a different name', report)
  const listed = all.flatMap((account) =>
    listedZones(account).map((zone, index) => ({ at: [...account.at, 'zones', index], zone })),
  )
  const ids = listed.map(({ at, zone }) => ({ at, value: zone.id }))
  refuseRepeated(ids, 'list each zone once, in one account', report)
  const names = listed.map(({ at, zone }) => ({ at, value: zone.name }))
  refuseRepeated(names, 'give each zone a different name, which is not the id of another zone', report)
  for (const { accessKey: key, keyAt, remedy } of all)
    if (key === undefined && needsKey) report(keyAt, { problem: 'is missing', remedy })
  if (needsZones && !all.some((account) => isGiven(account.zones)))
    report(['zones'], {
      problem: 'lists no zone',
      remedy: 'list the ids of your shield zones or write all, here or as SHIELDLOG_ZONES=101,102',
    })
  return all
    .filter((account) => account !== short || accessKey !== undefined || isGiven(zones))
    .map((account) => ({
      name: account.name,
      accessKey: account.accessKey ?? Secret.unresolved(`${pathText(account.keyAt)} is missing`),
      zones: listedZones(account),
      ...discoveryOf(account.zones),
    }))
}

type ZonesSetting = ConfigFile['zones']

function isGiven(zones: ZonesSetting): boolean {
  return !Array.isArray(zones) || zones.length > 0
}

function listedZones({
  name: account,
  zones,
}: {
  readonly name: string
  readonly zones: ZonesSetting
}): Zone[] {
  if (!Array.isArray(zones)) return []
  return zones.map((zone) => {
    const { id, name = String(id) } = typeof zone === 'number' ? { id: zone } : zone
    return { id, name, account }
  })
}

function discoveryOf(zones: ZonesSetting): Pick<AccountConfig, 'discovery'> {
  if (zones === 'all') return { discovery: { exclude: [], everyMinutes: 15 } }
  if (Array.isArray(zones)) return {}
  const { exclude, everyMinutes } = zones
  return { discovery: { exclude, everyMinutes } }
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
  const hours = settleAfterHours ?? scanDefaults.filter((one) => one < end)
  return { ...poll, firstRunDays, settleAfterHours: [...new Set(hours)].sort((a, b) => a - b) }
}

/** Checks that no two sinks share a name or a place; other settings of them may be wrong. */
export function checkSinks(written: unknown, report: Report): void {
  const sinks = Array.isArray(written) ? written.filter(isPlainObject) : []
  const textAt = (key: string) =>
    sinks.flatMap((sink, index) => {
      const value = key === 'name' ? (sink['name'] ?? sink['type']) : sink[key]
      return typeof value === 'string' ? [{ at: ['sinks', index, key], value, type: sink['type'] }] : []
    })
  refuseRepeated(textAt('name'), 'give each sink a different name', report)
  const folders = textAt('path').filter(({ type }) => type === 'file')
  const real = folders.map((folder) => ({ ...folder, key: realFolder(folder.value) }))
  refuseRepeated(real, 'give each file sink a different path', report)
  const buckets = textAt('bucket').filter(({ type }) => type === 's3')
  const places = buckets.map(({ at, value }) => {
    const { endpoint = null, prefix = '' } = sinks[Number(at[1])]!
    return { at, value, key: JSON.stringify([endpoint, value, prefix]) }
  })
  refuseRepeated(places, 'give each s3 sink a different bucket or prefix', report)
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
  const apps = (volumes?.apps ?? []).map((setting, index) => {
    const { id, account }: { id: string; account?: string | undefined } =
      typeof setting === 'string' ? { id: setting } : setting
    const at = ['metrics', 'volumes', 'apps', index]
    if (account === undefined && known.length > 1)
      report(at, {
        value: JSON.stringify(id),
        problem: 'names no account, and there are several',
        remedy: `write { id: ${id}, account: NAME }, with one of: ${known.join(', ')}`,
      })
    if (account !== undefined && !known.includes(account))
      report([...at, 'account'], refusedChoice(account, known, at))
    return { at, app: { id, account: account ?? known[0]! } }
  })
  const ids = apps.map(({ at, app }) => ({ at, value: app.id }))
  refuseRepeated(ids, 'name each application once', report)
  return {
    ...(uploadScanning !== undefined && { uploadScanning }),
    ...(volumes !== undefined && { volumes: { ...volumes, apps: apps.map(({ app }) => app) } }),
  }
}
