import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Secret } from '../domain/text/secret.ts'
import { hiddenHeaders } from '../shield/redaction/names.ts'
import { refusedChoice } from './complaints.ts'
import { type Path, pathText, type Report, valueAt } from './errors.ts'
import { requiredBy } from './needs.ts'
import type { ConfigReading } from './reading.ts'
import type { AccountConfig, Config, ConfigFile } from './schema.ts'
import { isPlainObject } from './shape.ts'
import { storeOf } from './state.ts'

const keepDaysDefault = 14

/** Checks the dependencies between sections, each of which is valid, and reports what is wrong. */
export function resolveConfig(settings: ConfigFile, reading: ConfigReading): Config {
  const places = ['state', 'state.url', 'state.redis.url'].map((at) => reading.secretUrls.get(at))
  const stateUrl = places.find((found) => found !== undefined)
  const { accessKey: _key, accessKeyFile: _keyFile, ...api } = settings.api
  const { tokenFile: _tokenFile, ...server } = settings.server
  const { report, written, cwd } = reading
  const given = valueAt(written, ['server'])
  const { readableDays } = settings.poll
  const { keepDays = Math.max(keepDaysDefault, readableDays) } = settings.state
  if (keepDays < readableDays)
    report(['state', 'keepDays'], {
      value: String(keepDays),
      problem: `is less than poll.readableDays (${readableDays})`,
      remedy: `set it to ${readableDays} or more, or leave it out; what was delivered of a day must be known while the API lists it`,
    })
  refuseRepeated(
    settings.notify.map(({ name }, index) => ({ at: ['notify', index, 'name'], value: name })),
    'give each place a different name',
    report,
  )
  refuseHiddenFilters(settings, report)
  const accounts = resolveAccounts(settings, reading)
  return {
    ...settings,
    accounts,
    zones: accounts.flatMap((account) => account.zones),
    sinks: settings.sinks.map((sink, index) => {
      const secretUrl = reading.secretUrls.get(pathText(['sinks', index, 'url']))
      return secretUrl === undefined ? sink : { ...sink, secretUrl }
    }),
    api,
    state: storeOf(settings.state, keepDays, cwd, stateUrl),
    server: { ...server, configured: isPlainObject(given) && Object.keys(given).length > 0 },
    metrics: resolveMetrics(settings, report),
  }
}

/** A filter compares what is left of an event after redaction, so one of what is hidden would pass all or nothing. */
function refuseHiddenFilters({ redact, sinks }: ConfigFile, report: Report): void {
  if (redact === 'off') return
  const isHidden = hiddenHeaders({ listed: redact.headers, kept: redact.keep.headers })
  const hidden = {
    addresses: redact.addresses !== 'keep' && `redact.addresses is ${redact.addresses}`,
    userAgents: isHidden('user-agent') && 'redact.headers hides user-agent',
  }
  const remedy = {
    addresses: 'remove it and filter by countries or asns, or set redact.addresses to keep',
    userAgents: 'remove it, or add user-agent to redact.keep.headers',
  }
  for (const [index, { where: { any = [], ...lists } = {} }] of sinks.entries())
    for (const [step, each] of [lists, ...any].entries())
      for (const field of ['addresses', 'userAgents'] as const) {
        if (each[field] === undefined || hidden[field] === false) continue
        const at = ['sinks', index, 'where', ...(step === 0 ? [] : ['any', step - 1]), field]
        report(at, { problem: `compares nothing, since ${hidden[field]}`, remedy: remedy[field] })
      }
}

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
  { needs, report }: ConfigReading,
): AccountConfig[] {
  const { key: needsKey = false, zones: needsZones = false } = requiredBy(needs)
  const isGiven = ({ listed, discovery }: typeof zones) => listed.length > 0 || discovery !== undefined
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
    account.zones.listed.map((zone, index) => ({ at: [...account.at, 'zones', index], ...zone })),
  )
  const ids = listed.map(({ at, id }) => ({ at, value: id }))
  refuseRepeated(ids, 'list each zone once, in one account', report)
  const names = listed.map(({ at, name }) => ({ at, value: name }))
  refuseRepeated(names, 'give each zone a different name, which is not the id of another zone', report)
  for (const { accessKey: key, keyAt, remedy } of all)
    if (key === undefined && needsKey) report(keyAt, { problem: 'is missing', remedy })
  if (needsZones && !all.some((account) => isGiven(account.zones)))
    report(['zones'], {
      problem: 'lists no zone',
      remedy: 'list the ids of your shield zones or write all, here or as SHIELDLOG_ZONES=101,102',
    })
  return all
    .filter((account) => account !== short || isShort)
    .map(({ name, accessKey: key, keyAt, zones: { listed: zones, discovery } }) => ({
      name,
      accessKey: key ?? Secret.unresolved(`${pathText(keyAt)} is missing`),
      zones: zones.map((zone) => ({ ...zone, account: name })),
      ...(discovery !== undefined && { discovery }),
    }))
}

/** Checks that no two sinks share a name or a place; other settings of them may be wrong. */
export function checkSinks(written: unknown, report: Report): void {
  const sinks = Array.isArray(written) ? written.filter(isPlainObject) : []
  const textAt = (key: string) =>
    sinks.flatMap((sink, index) => {
      const value = key === 'name' ? (sink['name'] ?? sink['type']) : sink[key]
      return typeof value === 'string' ? [{ at: ['sinks', index, key], value, sink }] : []
    })
  refuseRepeated(textAt('name'), 'give each sink a different name', report)
  const folders = textAt('path').filter(({ sink }) => sink['type'] === 'file')
  const real = folders.map((folder) => ({ ...folder, key: realFolder(folder.value) }))
  refuseRepeated(real, 'give each file sink a different path', report)
  // Only sinks of objects have one.
  for (const field of ['bucket', 'container']) {
    const places = textAt(field).map(({ at, value, sink: { account, endpoint, prefix = '' } }) => {
      // As it is requested: with or without a slash at the end, in any case of the host.
      const place = URL.parse(String(endpoint))?.href.replace(/\/+$/, '') ?? endpoint ?? account
      return { at, value, key: JSON.stringify([place, value, prefix]) }
    })
    refuseRepeated(places, `give each sink a different ${field} or prefix`, report)
  }
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
function resolveMetrics({ metrics, accounts }: ConfigFile, report: Report): Config['metrics'] {
  const { volumes, ...others } = metrics
  if (volumes === undefined) return others
  const owners = accounts.length === 0 ? ['default'] : accounts.map(({ name }) => name)
  const apps = volumes.apps.map(({ id, account }, index) => {
    const at = ['metrics', 'volumes', 'apps', index]
    if (account === undefined && owners.length > 1)
      report(at, {
        value: JSON.stringify(id),
        problem: 'names no account, and there are several',
        remedy: `write { id: ${id}, account: NAME }, with one of: ${owners.join(', ')}`,
      })
    if (account !== undefined && !owners.includes(account))
      report([...at, 'account'], refusedChoice(account, owners, at))
    return { at, value: id, account: account ?? owners[0]! }
  })
  refuseRepeated(apps, 'name each application once', report)
  const owned = apps.map(({ value: id, account }) => ({ id, account }))
  return { ...others, volumes: { ...volumes, apps: owned } }
}
