import type { Command } from 'commander'
import { startChecks, type Checks } from '../assemble/check.ts'
import type { Loaded } from '../config/load.ts'
import { exitCodes, type Io } from './command.ts'
import type { Registration } from './command.ts'
import { example, commandLine } from './program-name.ts'
import { jsonResult, counted, countOf, countText, sumOf, zoneText, paintFor } from './terminal/text.ts'
import type { Paint } from './terminal/text.ts'
import { wrapPlain, printable } from '../domain/text/terminal-text.ts'
import type { SinkTried, Tried, ApiTried } from '../assemble/check.ts'
import { openWork } from '../assemble/work.ts'
import { stateName } from '../assemble/state.ts'
import type { AccountConfig, Config, SinkConfig } from '../config/schema.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import { withoutSink } from '../domain/failure.ts'
import type { Failure, FailureCode } from '../domain/failure.ts'
import type { AccountZones } from '../discovery/list-zones.ts'
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
  { stdout, signal }: Io,
): Promise<number> {
  const paint = paintFor(stdout)
  const width = stepWidth(loaded)
  const findings: Finding[] = []
  const show = (found: readonly Finding[]) => {
    findings.push(...found)
    if (!json)
      for (const line of found.flatMap((each) => findingLines(each, width, paint))) stdout.write(`${line}\n`)
  }
  show(configurationFindings(loaded))
  if (!offline) {
    await using work = await openWork(loaded.config, {}, signal)
    await showAll(startChecks(work, sendTest, signal), loaded, show)
  }
  const problems = findings.filter(({ mark }) => mark === 'fail').length
  const plain = findings.map(({ step, mark, text }) => ({ step: step.trim(), mark, text }))
  stdout.write(json ? jsonResult({ problems, findings: plain }) : `\n${summaryLine(problems, paint)}\n`)
  return problems > 0 ? exitCodes.failed : exitCodes.done
}

/** In the order of the steps, each as soon as it and those before it have ended. */
async function showAll(checks: Checks, { config }: Loaded, show: (found: Finding[]) => void): Promise<void> {
  const api = await checks.api
  show(apiFindings(api))
  const worker = await checks.worker
  show(stateFindings(config, await checks.state, worker))
  show([portFinding(config, await checks.port, worker)])
  const held = await checks.held
  for (const { sink, tried } of checks.sinks) {
    const [why, found] = [held.get(sink.name), await tried]
    if (why !== undefined) show([fail(sinkStep(sink), printable(why, 1_000))])
    if (why === undefined || !found.check.isWell) show(sinkFindings(sink, found))
    show(filterFindings(api, sink.name))
  }
}

/** One line of `check`. */
export interface Finding {
  /** What was tried; empty where the line belongs to the step above, indented for a part of that. */
  readonly step: string
  /** `note`: worth knowing, and no problem. */
  readonly mark: 'ok' | 'note' | 'fail'
  readonly text: string
}

const ok = (step: string, text: string): Finding => ({ step, mark: 'ok', text })
const fail = (step: string, text: string): Finding => ({ step, mark: 'fail', text })
const note = (text: string, step = ''): Finding => ({ step, mark: 'note', text: printable(text) })

const marks = { ok: 'ok', note: 'note', fail: 'FAIL' } as const
const steps = { narrowest: 13, widest: 28 }

/** As wide as the longest step, so that marks are aligned. */
function stepWidth({ config }: Loaded): number {
  const zones = config.accounts.flatMap((account) => account.zones)
  const widths = [...zones.map(zoneStep), ...config.sinks.map(sinkStep)].map((step) => step.length)
  return Math.min(steps.widest, Math.max(steps.narrowest, ...widths))
}

/** One finding, wrapped at words below its text. */
export function findingLines({ step, mark, text }: Finding, width: number, paint: Paint): string[] {
  const head = `${step.padEnd(width)}  `
  const word = marks[mark].padEnd(4)
  const painted = mark === 'ok' ? paint.good(word) : mark === 'fail' ? paint.bad(word) : word
  const room = Math.max(20, paint.width - Math.max(head.length + 6, width + 8))
  const [first = '', ...rest] = wrapPlain(text, room)
  return [`${head}${painted}  ${first}`, ...rest.map((line) => `${' '.repeat(width + 8)}${line}`)]
}

export function summaryLine(problems: number, paint: Paint): string {
  if (problems === 0) return paint.good('No problems.')
  return paint.bad(
    `${counted(problems, 'problem')}. Fix ${problems === 1 ? 'it' : 'them'} and run check again.`,
  )
}

function configurationFindings({ config, file, overridden, warnings, exposed }: Loaded): Finding[] {
  const from = file === undefined ? 'the environment' : printable(file)
  return [
    ok('configuration', `${from}; ${zonesText(config)}, ${counted(config.sinks.length, 'sink')}`),
    ...[...overridden, ...warnings, ...exposed].map((text) => note(text)),
  ]
}

function zonesText({ accounts }: Config): string {
  const named = accounts.flatMap(({ zones }) => zones).length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  if (all.length === 0) return counted(named, 'zone')
  const some = all.length === accounts.length ? 'all zones' : `all zones of ${all.join(', ')}`
  return named === 0 ? some : `${counted(named, 'zone')}, ${some}`
}

function stateFindings(
  config: Config,
  tried: Tried<readonly string[]>,
  worker: WorkerStatus | undefined,
): Finding[] {
  if (!tried.isWell) return [fail('state', printable(tried.why))]
  const running = worker === undefined ? [] : [`${worker.name} runs on it`]
  return [
    ok('state', `${printable(stateName(config))}, opened for writing`),
    ...[...tried.found, ...running].map((text) => note(text)),
  ]
}

/** A port that the shieldlog of this state uses is not a problem: `run` is active. */
function portFinding({ server }: Config, tried: Tried<void>, worker: WorkerStatus | undefined): Finding {
  const address = `${server.host}:${server.port}`
  if (tried.isWell) return ok('port', server.port === 0 ? 'any free one' : address)
  return worker !== undefined && tried.why.includes('in use')
    ? note(`${address} is in use; ${worker.name} is running`, 'port')
    : fail('port', printable(tried.why))
}

function sinkFindings(sink: SinkConfig, { address, check, sent }: SinkTried): Finding[] {
  const step = sinkStep(sink)
  if (!check.isWell) return [fail(step, printable(withoutSink(check.why, sink.name)))]
  const { found, note: told, untested } = check.found ?? {}
  const findings = [ok(step, `${printable(address)}${found === undefined ? '' : `, ${found}`}`)]
  if (told !== undefined) findings.push(note(told))
  if (sent?.isWell === true) findings.push(ok('  test event', printable(sent.found)))
  else if (sent !== undefined) findings.push(fail('  test event', printable(sent.why)))
  else if (untested !== undefined)
    findings.push(note(`${untested}; to test them with one event: ${commandLine('check --send-test')}`))
  return findings
}

function sinkStep({ name }: Pick<SinkConfig, 'name'>): string {
  return `sink ${printable(name)}`
}

const mostZones = 20
const toleratedOffsetMs = 30_000

/** Per account whether the key is taken, then per zone what the first page of today holds. */
function apiFindings({ config, listed, read, problems, clockOffsets }: ApiTried): Finding[] {
  const more = read.length - mostZones
  // Zones in the settings of sinks that no account lists, where the API decides which zones are shipped.
  const isListed = listed.length > 0 && listed.every((each) => 'zones' in each)
  return [
    ...listed.flatMap((each) => listFindings(config, each)),
    ...config.accounts.flatMap((account) => accountFindings(config, account, read)),
    ...read.slice(0, mostZones).map(zoneFinding),
    ...(more > 0 ? [ok('', `and ${counted(more, 'more zone')}`)] : []),
    ...problems.map((problem) => problemFinding(config, problem)),
    ...[...clockOffsets].flatMap(clockFindings),
    ...(isListed ? unknownZoneWarnings(config) : []).map((text) => note(text)),
  ]
}

/** How much of what was read the filter of a sink lets through. */
function filterFindings({ read, passed }: ApiTried, sink: string): Finding[] {
  const count = passed.get(sink)
  const total = sumOf(read, 'events')
  if (count === undefined || total === 0) return []
  const zones = read.filter(({ events }) => events > 0).length
  const pages = zones === 1 ? 'the first page of today' : `the first pages of today (${zones} zones)`
  const of = `where and sample: of ${countOf(total, 'event')} on ${pages} ${countText(count)} pass`
  const warning = count > 0 ? '' : '; if this sink is to get such events, correct its where or sample'
  return [note(`${of}${warning}`)]
}

function accountFindings({ api }: Config, account: AccountConfig, read: readonly ZoneRead[]): Finding[] {
  const { name, zones } = account
  const own = read.filter(({ zone }) => zone.account === name)
  if (own.length === 0) return []
  const fastest = Math.min(...own.map(({ tookMs }) => tookMs))
  const text = `${new URL(api.baseUrl).origin} accepts the key (account ${name}, ${fastest} ms)`
  const part =
    own.length === zones.length ? '' : `; ${own.length} of ${counted(zones.length, 'zone')} can be read`
  return [ok('API', `${text}${part}`)]
}

function zoneFinding({ zone, events, newestSeconds, more }: ZoneRead): Finding {
  const age = newestSeconds === undefined ? '' : `, newest ${durationText(newestSeconds)} old`
  const rest = more && newestSeconds === undefined ? ', newer ones follow on other pages' : ''
  const some = `first page has ${countOf(events, 'event')}${age}${rest}`
  return ok(zoneStep(zone), `today: ${events === 0 ? 'no events yet' : some}`)
}

function zoneStep({ id, name }: Zone): string {
  return name === '' || name === String(id) ? `  zone ${id}` : `  zone ${id} ${printable(name, 20)}`
}

function problemFinding(config: Config, { account, failure, zones, notAsked }: ZoneProblem): Finding {
  const own = config.accounts.find(({ name }) => name === account)?.zones.length ?? 0
  const isWhole = zones.length + notAsked === own
  const whose = isWhole && own > 1 ? `all ${own} zones` : zoneNames(zones)
  const rest = notAsked > 0 ? `; ${notAsked} of them were not tried` : ''
  const why = withRemedy(failure, `event_logs of account ${account}: `, isWhole)
  return fail('API', `account ${account}, ${whose}: ${why}${rest}`)
}

function clockFindings([account, offsetMs]: readonly [account: string, offsetMs: number]): Finding[] {
  if (Math.abs(offsetMs) <= toleratedOffsetMs) return []
  const how = `${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's`
  return [note(`this host's clock is ${how} (account ${account}); set it, for example by NTP`)]
}

/** What to do where the message itself does not say it. */
const remedies: Partial<Record<FailureCode, string>> = {
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

function withRemedy({ code, message }: Failure, prefix: string, isWhole: boolean): string {
  const isPart = code === 'unauthorised' && !isWhole
  const remedy = isPart ? 'use a key for this account that may read them' : remedies[code]
  return `${printable(message.replace(prefix, ''))}${remedy === undefined ? '' : `; ${remedy}`}`
}

/** What the API lists for an account that discovers its zones. */
function listFindings(config: Config, listed: AccountZones): Finding[] {
  const { account } = listed
  const { discovery, zones } = config.accounts.find(({ name }) => name === account)!
  if ('failure' in listed) return [fail('zones', withRemedy(listed.failure, '', true))]
  const all = listed.zones.length
  if (all === 0)
    return [
      fail(
        'zones',
        `account ${account}: the API lists no shield zones; create one, or use the key of another account`,
      ),
    ]
  const ids = new Set(listed.zones.map(({ id }) => id))
  const unknown = (discovery?.exclude ?? []).filter((id) => !ids.has(id))
  const left =
    all === zones.length
      ? ''
      : `; ${counted(zones.length, 'zone')} of them shipped, ${all - zones.length} not`
  return [
    ok('zones', `account ${account}: the API lists ${counted(all, 'zone')}${left}`),
    ...(unknown.length === 0
      ? []
      : [
          note(
            `account ${account}: zones.exclude contains ${unknown.join(', ')}, which the API does not list`,
          ),
        ]),
  ]
}

function zoneNames(zones: readonly Pick<Zone, 'id' | 'name'>[]): string {
  const shown = zones.slice(0, mostZones).map(({ id, name }) => zoneText(id, name))
  const more = zones.length > mostZones ? ` and ${zones.length - mostZones} more` : ''
  return `${zones.length === 1 ? 'zone' : 'zones'} ${shown.join(', ')}${more}`
}
