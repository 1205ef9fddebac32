import type * as z from 'zod'
import { type Needs, type Report, checkSinks, resolveAccounts, resolvePoll } from './checks.ts'
import { type Issue, flatten } from './issues.ts'
import type { Path } from './path.ts'
import {
  AccountSetting,
  ApiConfig,
  type Config,
  ConfigFile,
  PollConfig,
  ServerSetting,
  SinkConfig,
  ZoneSetting,
} from './schema.ts'
import { isPlainObject } from './shape.ts'
import { StateSetting, resolveState } from './state.ts'

export interface Resolution {
  readonly cwd: string
  readonly needs: Needs
  readonly serverConfigured: boolean
  readonly report: Report
  readonly refuse: (issue: Issue, path: Path) => void
  /** False for a place that was reported before. */
  readonly good: (path: Path) => boolean
  /** True where nothing at or inside of a place was reported before. */
  readonly whole: (path: Path) => boolean
}

type Prepared = Readonly<Record<string, unknown>>

/**
 * Checks every section, then what holds between them, and reports all that is wrong. The result is whole only when
 * nothing was reported; undefined where it cannot even be put together.
 */
export function resolveConfig(prepared: Prepared, on: Resolution): Config | undefined {
  const { shape } = ConfigFile
  const api = section(ApiConfig, prepared['api'], ['api'], on)
  const zones = each(ZoneSetting, shape.zones, prepared['zones'], ['zones'], on)
  const accountSettings = each(AccountSetting, shape.accounts, prepared['accounts'], ['accounts'], on)
  const poll = section(PollConfig, prepared['poll'], ['poll'], on)
  const redact = section(shape.redact, prepared['redact'], ['redact'], on)
  const stateSetting = section(StateSetting, prepared['state'], ['state'], on)
  const workers = section(shape.workers, prepared['workers'], ['workers'], on)
  const sinks = each(SinkConfig, shape.sinks, prepared['sinks'], ['sinks'], on)
  const deadLetters = section(shape.deadLetters, prepared['deadLetters'], ['deadLetters'], on)
  const server = section(ServerSetting, prepared['server'], ['server'], on)
  const log = section(shape.log, prepared['log'], ['log'], on)

  const accounts = resolveAccounts(accountSources(prepared, api, zones, accountSettings), on.needs, on.report)
  checkSinks(sinks, on.report)
  const judgeable = stateSetting !== undefined && on.whole(['state'])
  const state = judgeable ? resolveState(stateSetting, on.cwd, on.report) : undefined
  const pollConfig = poll === undefined ? undefined : resolvePoll(poll, on.report, on.good)
  if (!api || !pollConfig || redact === undefined || !state || !workers || !deadLetters || !server || !log)
    return undefined
  const { accessKey: _key, accessKeyFile: _file, ...apiConfig } = api
  const { token, host, port, readyLagSeconds } = server
  return {
    accounts,
    api: apiConfig,
    poll: pollConfig,
    redact,
    state,
    workers,
    sinks: sinks.length === 0 ? [defaultSink] : sinks.filter((sink) => sink !== undefined),
    deadLetters,
    server: {
      host,
      port,
      readyLagSeconds,
      configured: on.serverConfigured,
      ...(token === undefined ? {} : { token }),
    },
    log,
  }
}

export const defaultSink: SinkConfig = { type: 'stdout', name: 'stdout', format: 'native' }

function accountSources(
  { api: written }: Prepared,
  api: z.output<typeof ApiConfig> | undefined,
  zones: readonly (z.output<typeof ZoneSetting> | undefined)[],
  accounts: readonly (z.output<typeof AccountSetting> | undefined)[],
) {
  const keyGiven = isPlainObject(written) && ('accessKey' in written || 'accessKeyFile' in written)
  return { accessKey: api?.accessKey, keyGiven, zones, accounts }
}

/** Items one by one, so that a bad one does not hide what is wrong between the others. A bad one leaves a hole. */
function each<Item extends z.ZodType>(
  item: Item,
  list: z.ZodType,
  value: unknown,
  path: Path,
  on: Resolution,
): (z.output<Item> | undefined)[] {
  if (!Array.isArray(value)) {
    section(list, value, path, on)
    return []
  }
  return value.map((one: unknown, index) => section(item, one, [...path, index], on))
}

/** A section without its bad settings, so that they do not hide what is wrong between the others. */
function section<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  path: Path,
  on: Resolution,
): z.output<Schema> | undefined {
  const first = schema.safeParse(value)
  if (first.success) return first.data
  const found = flatten(first.error.issues, path)
  for (const { issue, path: place } of found) on.refuse(issue, place)
  let rest = value
  for (const { path: place } of found) rest = without(rest, place.slice(path.length))
  const second = schema.safeParse(rest)
  return second.success ? second.data : undefined
}

/** The value without the setting at a place; a list with a bad item goes as a whole. */
function without(value: unknown, path: Path): unknown {
  const [step, ...rest] = path
  if (!isPlainObject(value) || step === undefined) return undefined
  const inner = rest.length === 0 ? undefined : without(value[step], rest)
  const kept = Object.entries(value).filter(([key]) => key !== String(step))
  return Object.fromEntries(inner === undefined ? kept : [...kept, [String(step), inner]])
}
