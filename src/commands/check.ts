import type { Command } from 'commander'
import { startChecks, type Checks } from '../assemble/check.ts'
import type { Loaded } from '../config/load.ts'
import { exitCodes, type Io } from './command.ts'
import type { Registration } from './command.ts'
import { example, commandLine } from './program-name.ts'
import { jsonResult, counted, countOf, countText, zoneText, paintFor } from './terminal/text.ts'
import type { Paint } from './terminal/text.ts'
import { wrapPlain, printable } from '../domain/text/terminal-text.ts'
import type { SinkTried, StateTried, Tried, ApiTried } from '../assemble/check.ts'
import { stateName } from '../assemble/state.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import { withoutSink } from '../domain/failure.ts'
import type { FailureCode } from '../domain/failure.ts'
import { meantZone, type AccountZones } from '../discovery/list-zones.ts'
import { discoveringIn } from '../discovery/with-zones.ts'
import { unknownZoneWarnings } from '../config/warnings.ts'
import type { Zone } from '../domain/stream.ts'
import { durationText } from '../domain/text/time.ts'
import type { ZoneProblem, ZoneRead } from '../maintenance/read/check.ts'

interface CheckOptions {
  readonly offline?: boolean
  readonly sendTest?: boolean
  readonly json?: boolean
}

export function register({ command, io, exit, load }: Registration): void {
  command
    .option('--offline', 'check only the configuration')
    .option('--send-test', 'send one event, marked as a test, to each sink but files and stdout')
    .option('--json', 'as JSON')
    .addHelpText('after', example('check -c shieldlog.yaml'))
    .action(async (options: CheckOptions, command: Command) => exit(await check(load(command), options, io)))
}

export async function check(
  loaded: Loaded,
  { offline = false, sendTest = false, json = false }: CheckOptions,
  io: Io,
): Promise<number> {
  const { stdout, signal } = io
  const paint = paintFor(stdout)
  const width = stepWidth(stepsOf(loaded))
  const findings: Finding[] = []
  const show = (found: readonly Finding[]) => {
    findings.push(...found)
    if (json) return
    for (const finding of found)
      for (const line of findingLines(finding, width, paint)) stdout.write(`${line}\n`)
  }

  show(configurationFindings(loaded))
  if (!offline) {
    const checks = startChecks(loaded.config, sendTest, signal)
    try {
      await showAll(checks, loaded, show)
    } finally {
      await checks.close()
    }
  }
  const problems = problemsIn(findings)
  stdout.write(
    json ? jsonResult({ problems, findings: findings.map(plain) }) : `\n${summaryLine(findings, paint)}\n`,
  )
  return problems > 0 ? exitCodes.failed : exitCodes.done
}

/** In the order of the steps, each as soon as it and those before it have ended. */
async function showAll(checks: Checks, { config }: Loaded, show: (found: Finding[]) => void): Promise<void> {
  const api = await checks.api
  show(apiFindings(api))
  show(listedZoneFindings(api))
  const worker = await checks.worker
  show(stateFindings(config, await checks.state, worker))
  show(portFindings(config, await checks.port, worker))
  const held = await checks.held
  for (const { sink, tried } of checks.sinks) {
    const [why, found] = [held.get(sink.name), await tried]
    if (why !== undefined) show([heldFinding(sink, why)])
    if (why === undefined || 'why' in found.check) show(sinkFindings(sink, found))
    show(filterFindings(api, sink.name))
  }
}

function stepsOf({ config }: Loaded): string[] {
  const zones = config.accounts.flatMap((account) => account.zones)
  return [...zones.map((zone) => `  ${zoneStep(zone)}`), ...config.sinks.map(sinkStep)]
}

function plain({ step, mark, text }: Finding): Pick<Finding, 'step' | 'mark' | 'text'> {
  return { step, mark, text }
}

const marks = { ok: 'ok', note: 'note', fail: 'FAIL' } as const
const mostStep = 28

/** As wide as the longest step, so that marks are aligned. */
export function stepWidth(steps: readonly string[]): number {
  return Math.min(mostStep, Math.max(13, ...steps.map((step) => step.length)))
}

/** One finding, wrapped at words below its text. */
export function findingLines({ step, mark, text, isPart }: Finding, width: number, paint: Paint): string[] {
  const name = isPart === true ? `  ${step}` : step
  const head = `${name.padEnd(width)}  `
  const word = marks[mark].padEnd(4)
  const painted = mark === 'ok' ? paint.good(word) : mark === 'fail' ? paint.bad(word) : word
  const indent = ' '.repeat(width + 8)
  const [first = '', ...rest] = wrapPlain(
    text,
    Math.max(20, paint.width - Math.max(head.length + 6, indent.length)),
  )
  return [`${head}${painted}  ${first}`.trimEnd(), ...rest.map((line) => `${indent}${line}`)]
}

export function summaryLine(findings: readonly Finding[], paint: Paint): string {
  const count = problemsIn(findings)
  if (count === 0) return paint.good('No problems.')
  return paint.bad(`${count} ${count === 1 ? 'problem. Fix it' : 'problems. Fix them'} and run check again.`)
}

const ok = (step: string, text: string): Finding => ({ step, mark: 'ok', text })
const fail = (step: string, text: string): Finding => ({ step, mark: 'fail', text })
const note = (text: string): Finding => ({ step: '', mark: 'note', text })

function configurationFindings({ config, file, overridden, warnings, exposed }: Loaded): Finding[] {
  const from = file === undefined ? 'the environment' : printable(file)
  return [
    {
      step: 'configuration',
      mark: 'ok',
      text: `${from}; ${zonesText(config)}, ${counted(config.sinks.length, 'sink')}`,
    },
    ...[...overridden, ...warnings, ...exposed].map((text) => note(printable(text))),
  ]
}

function zonesText({ accounts }: Config): string {
  const named = accounts.flatMap(({ zones }) => zones).length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  if (all.length === 0) return counted(named, 'zone')
  const some = all.length === accounts.length ? 'all zones' : `all zones of ${all.join(', ')}`
  return named === 0 ? some : `${counted(named, 'zone')}, ${some}`
}

function stateFindings(config: Config, tried: StateTried, worker: WorkerStatus | undefined): Finding[] {
  const name = printable(stateName(config))
  if (!tried.isWell) return [fail('state', printable(tried.why))]
  const well: Finding = ok('state', `${name}, opened for writing`)
  const running = worker === undefined ? [] : [note(printable(`${worker.name} runs on it`))]
  return [well, ...tried.warnings.map((text) => note(printable(text))), ...running]
}

/** A port that the shieldlog of this state uses is not a problem: `run` is active. */
function portFindings({ server }: Config, tried: Tried, worker: WorkerStatus | undefined): Finding[] {
  const address = `${server.host}:${server.port}`
  if (tried.isWell) return [ok('port', server.port === 0 ? 'any free one' : address)]
  if (worker !== undefined && tried.why.includes('in use'))
    return [
      { step: 'port', mark: 'note', text: `${address} is in use; ${printable(worker.name)} is running` },
    ]
  return [fail('port', printable(tried.why))]
}

function sinkFindings(sink: SinkConfig, { address, check, sent }: SinkTried): Finding[] {
  const step = sinkStep(sink)
  if ('why' in check) return [fail(step, printable(withoutSink(check.why, sink.name)))]
  const found = check.found === undefined ? '' : `, ${check.found}`
  const well: Finding[] = [
    ok(step, `${printable(address)}${found}`),
    ...(check.note === undefined ? [] : [note(check.note)]),
  ]
  if (sent !== undefined)
    return [
      ...well,
      { step: 'test event', mark: sent.isWell ? 'ok' : 'fail', text: printable(sent.text), isPart: true },
    ]
  if (check.untested === undefined) return well
  const text = `${check.untested}; to test them with one event: ${commandLine('check --send-test')}`
  return [...well, note(text)]
}

function heldFinding(sink: SinkConfig, why: string): Finding {
  return fail(sinkStep(sink), printable(why, 1_000))
}

function sinkStep({ name }: Pick<SinkConfig, 'name'>): string {
  return `sink ${printable(name)}`
}

/** `note`: worth knowing, and no problem. */
type Mark = 'ok' | 'note' | 'fail'

/** One line of `check`. */
export interface Finding {
  /** What was tried; empty where the line belongs to the step above. */
  readonly step: string
  readonly mark: Mark
  readonly text: string
  /** Indented below the step above. */
  readonly isPart?: boolean
}

export function problemsIn(findings: readonly Finding[]): number {
  return findings.filter(({ mark }) => mark === 'fail').length
}

const mostZones = 20
const toleratedOffsetMs = 30_000

/** Per account whether the key is taken, then per zone what the first page of today holds. */
function apiFindings({ config, listed, read, problems, clockOffsets }: ApiTried): Finding[] {
  const accounts = config.accounts.flatMap(({ name }) => accountFindings(config, name, read))
  const shown = read.slice(0, mostZones).map(zoneFinding)
  const more = read.length - shown.length
  return [
    ...listed.flatMap((each) => listFindings(config, each)),
    ...accounts,
    ...shown,
    ...(more > 0 ? [ok('', `and ${counted(more, 'more zone')}`)] : []),
    ...problems.map((problem) => problemFinding(config, problem, listed)),
    ...clockFindings(clockOffsets),
  ]
}

/** Zones in the settings of sinks that no account lists, where the API decides which zones are shipped. */
function listedZoneFindings({ config, listed }: ApiTried): Finding[] {
  const isListed = discoveringIn(config).length > 0 && listed.every((each) => 'zones' in each)
  const warnings = isListed ? unknownZoneWarnings(config) : []
  return warnings.map((text) => note(printable(text)))
}

/** How much of what was read the filter of a sink lets through. */
function filterFindings({ read, passed }: ApiTried, sink: string): Finding[] {
  const count = passed.get(sink)
  const total = read.reduce((sum, { events }) => sum + events, 0)
  if (count === undefined || total === 0) return []
  const zones = read.filter(({ events }) => events > 0).length
  const pages = zones === 1 ? 'the first page of today' : `the first pages of today (${zones} zones)`
  const of = `where and sample: of ${countOf(total, 'event')} on ${pages} ${countText(count)} pass`
  const warning = count > 0 ? '' : '; if this sink is to get such events, correct its where or sample'
  return [note(`${of}${warning}`)]
}

function accountFindings({ api, accounts }: Config, name: string, read: readonly ZoneRead[]): Finding[] {
  const own = read.filter(({ zone }) => zone.account === name)
  if (own.length === 0) return []
  const fastest = Math.min(...own.map(({ tookMs }) => tookMs))
  const text = `${new URL(api.baseUrl).origin} accepts the key (account ${name}, ${fastest} ms)`
  const all = accounts.find((account) => account.name === name)?.zones.length ?? 0
  const part = own.length === all ? '' : `; ${own.length} of ${counted(all, 'zone')} can be read`
  return [ok('API', `${text}${part}`)]
}

function zoneFinding({ zone, events, newestSeconds, more }: ZoneRead): Finding {
  const age = newestSeconds === undefined ? '' : `, newest ${durationText(newestSeconds)} old`
  const rest = more && newestSeconds === undefined ? ', newer ones follow on other pages' : ''
  const text =
    events === 0 ? 'today: no events yet' : `today: first page has ${countOf(events, 'event')}${age}${rest}`
  return { step: zoneStep(zone), mark: 'ok', text, isPart: true }
}

function zoneStep({ id, name }: Zone): string {
  return name === '' || name === String(id) ? `zone ${id}` : `zone ${id} ${printable(name, 20)}`
}

function problemFinding(
  config: Config,
  { account, failure, zones, notAsked }: ZoneProblem,
  listed: readonly AccountZones[],
): Finding {
  const own = config.accounts.find(({ name }) => name === account)?.zones.length ?? 0
  const isWhole = zones.length + notAsked === own
  const whose = isWhole ? (own === 1 ? zoneNames(zones) : `all ${own} zones`) : zoneNames(zones)
  const remedy =
    meantZones(failure, zones, listed) ??
    remedyOf(failure.code, account, isWhole) + zonesOfAccount(failure, account, listed)
  const rest = notAsked > 0 ? `; ${notAsked} of them were not tried` : ''
  const why = printable(failure.message.replace(`event_logs of account ${account}: `, ''))
  const text = `account ${account}, ${whose}: ${why}${remedy === '' ? '' : `; ${remedy}`}${rest}`
  return fail('API', text)
}

function clockFindings(clockOffsets: ApiTried['clockOffsets']): Finding[] {
  return [...clockOffsets].flatMap(([account, offsetMs]) => {
    if (Math.abs(offsetMs) <= toleratedOffsetMs) return []
    const how = `${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's`
    const text = `this host's clock is ${how} (account ${account}); set it, for example by NTP`
    return [note(text)]
  })
}

function remedyOf(code: FailureCode, account: string, isWhole: boolean): string {
  // The message itself names the setting of the key.
  if (code === 'unauthorised')
    return isWhole ? '' : `set the key of account ${account} to one that may read them`
  const remedies: Partial<Record<FailureCode, string>> = {
    zone_gone: 'remove it from zones, or list it under the account that owns it',
    network: 'the address is that of api.baseUrl',
    timeout: 'check the network, or raise api.requestTimeoutSeconds',
    tls: 'for the API that is api.tls, or NODE_EXTRA_CA_CERTS',
    bad_body: 'check api.baseUrl: another server answers there',
    rejected: 'check api.baseUrl and api.firstPage',
    window_closed: 'check the clock of this host: the API does not answer for its date',
    page_too_large: 'raise api.maxPageBytes',
    throttled: 'wait, or ask for a higher rate limit',
    server_error: 'try again later',
  }
  return remedies[code] ?? ''
}

/** What the API lists for an account that discovers its zones. */
function listFindings(config: Config, listed: AccountZones): Finding[] {
  const { account } = listed
  const { discovery, zones } = config.accounts.find(({ name }) => name === account)!
  if (discovery === undefined) return []
  const finding = (mark: Finding['mark'], text: string, step = 'zones'): Finding => ({
    step,
    mark,
    text: `account ${account}: ${text}`,
  })
  if ('failure' in listed) {
    const remedy = remedyOf(listed.failure.code, account, true)
    const why = printable(listed.failure.message)
    return [{ step: 'zones', mark: 'fail', text: `${why}${remedy === '' ? '' : `; ${remedy}`}` }]
  }
  if (listed.zones.length === 0)
    return [finding('fail', 'the API lists no shield zones; create one, or use the key of another account')]
  const ids = new Set(listed.zones.map(({ id }) => id))
  const unknown = discovery.exclude.filter((id) => !ids.has(id))
  const rest = listed.zones.length - zones.length
  const left = rest === 0 ? '' : `; ${counted(zones.length, 'zone')} of them shipped, ${rest} not`
  return [
    finding('ok', `the API lists ${counted(listed.zones.length, 'zone')}${left}`),
    ...(unknown.length === 0
      ? []
      : [finding('note', `zones.exclude contains ${unknown.join(', ')}, which the API does not list`, '')]),
  ]
}

/** Where pull zones were written in the place of shield zones; undefined where a zone is something else. */
function meantZones(
  { code }: ZoneProblem['failure'],
  zones: readonly Zone[],
  listed: readonly AccountZones[],
): string | undefined {
  if (code !== 'zone_gone') return undefined
  const meant = zones.map(({ id, account }) => {
    const own = listed.find((each) => each.account === account)
    return own !== undefined && 'zones' in own ? meantZone(id, own.zones) : undefined
  })
  return meant.includes(undefined) ? undefined : meant.slice(0, mostZones).join('; ')
}

function zonesOfAccount(
  { code }: ZoneProblem['failure'],
  account: string,
  listed: readonly AccountZones[],
): string {
  const own = listed.find((each) => each.account === account)
  if (code !== 'zone_gone' || own === undefined || 'failure' in own) return ''
  if (own.zones.length === 0) return '; the API lists no zones for this account'
  return `; the API lists ${zoneNames(own.zones)} for it`
}

function zoneNames(zones: readonly Pick<Zone, 'id' | 'name'>[]): string {
  const shown = zones.slice(0, mostZones).map(({ id, name }) => zoneText(id, name))
  const more = zones.length > mostZones ? ` and ${zones.length - mostZones} more` : ''
  return `${zones.length === 1 ? 'zone' : 'zones'} ${shown.join(', ')}${more}`
}
