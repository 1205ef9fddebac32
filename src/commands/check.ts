import type { Command } from 'commander'
import { startChecks, type ApiTried, type SinkTried } from '../assemble/check.ts'
import { stateName } from '../assemble/state.ts'
import { openWork } from '../assemble/work.ts'
import type { Loaded } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { unknownZoneWarnings } from '../config/warnings.ts'
import type { AccountZones } from '../discovery/list-zones.ts'
import { withoutSink, type Failure, type FailureCode } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { printable, wrapPlain } from '../domain/text/terminal-text.ts'
import { durationText } from '../domain/text/time.ts'
import type { ZoneProblem, ZoneRead } from '../maintenance/read/check.ts'
import { exitCodes, type Io, type Registration } from './command.ts'
import { commandLine, example } from './program-name.ts'
import {
  counted,
  countOf,
  countText,
  firstOf,
  jsonResult,
  paintFor,
  sumOf,
  zoneText,
  type Paint,
} from './terminal/text.ts'

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
const note = (text: string, step = ''): Finding => ({ step, mark: 'note', text })

export async function check(
  loaded: Loaded,
  { offline = false, sendTest = false, json = false }: CheckOptions,
  { stdout, signal }: Io,
): Promise<number> {
  const paint = paintFor(stdout)
  const width = stepWidth(loaded)
  const findings: Finding[] = []
  const add = ({ step, mark, text }: Finding) => {
    findings.push({ step: step.trim(), mark, text: printable(text) })
    const lines = findingLines({ step, mark, text: printable(text) }, width, paint)
    if (!json) stdout.write(lines.map((line) => `${line}\n`).join(''))
  }
  configurationFindings(loaded).forEach(add)
  if (!offline) {
    await using work = await openWork(loaded.config, {}, signal)
    for await (const found of triedFindings(work, sendTest, signal)) found.forEach(add)
  }
  const problems = findings.filter(({ mark }) => mark === 'fail').length
  stdout.write(json ? jsonResult({ problems, findings }) : `\n${summaryLine(problems, paint)}\n`)
  return problems > 0 ? exitCodes.failed : exitCodes.done
}

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
  const text = `${file ?? 'the environment'}; ${zonesText(config)}, ${counted(config.sinks.length, 'sink')}`
  return [ok('configuration', text), ...[...overridden, ...warnings, ...exposed].map((each) => note(each))]
}

function zonesText({ accounts }: Config): string {
  const named = accounts.flatMap(({ zones }) => zones).length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  const whose = all.length === accounts.length ? 'all zones' : `all zones of ${all.join(', ')}`
  return [
    ...(named > 0 || all.length === 0 ? [counted(named, 'zone')] : []),
    ...(all.length > 0 ? [whose] : []),
  ].join(', ')
}

type Work = Parameters<typeof startChecks>[0]

/** In the order of the steps, each as soon as it and those before it have ended. */
async function* triedFindings(
  work: Work,
  sendTest: boolean,
  signal: AbortSignal,
): AsyncGenerator<readonly Finding[]> {
  const { config } = work
  const checks = startChecks(work, sendTest, signal)
  const api = await checks.api
  yield apiFindings(api)
  const [worker, state, port] = [await checks.worker, await checks.state, await checks.port]
  if (state.isWell) {
    yield [ok('state', `${stateName(config)}, opened for writing`), ...state.found.map((each) => note(each))]
    if (worker !== undefined) yield [note(`${worker.name} runs on it`)]
  } else yield [fail('state', state.why)]
  const { server } = config
  const address = `${server.host}:${server.port}`
  if (port.isWell) yield [ok('port', server.port === 0 ? 'any free one' : address)]
  // A port that the shieldlog of this state uses is not a problem: `run` is active.
  else if (worker !== undefined && port.why.includes('in use'))
    yield [note(`${address} is in use; ${worker.name} is running`, 'port')]
  else yield [fail('port', port.why)]
  const held = await checks.held
  for (const { sink, tried } of checks.sinks) {
    const [why, found] = [held.get(sink.name), await tried]
    if (why !== undefined) yield [fail(sinkStep(sink), printable(why, 1_000))]
    if (why === undefined || !found.check.isWell) yield sinkFindings(sink, found)
    yield filterFindings(api, sink.name)
  }
}

function sinkFindings({ name }: { readonly name: string }, { address, check, sent }: SinkTried): Finding[] {
  const step = sinkStep({ name })
  if (!check.isWell) return [fail(step, withoutSink(check.why, name))]
  const { found, note: told, untested } = check.found ?? {}
  const remedy = commandLine('check --send-test')
  return [
    ok(step, found === undefined ? address : `${address}, ${found}`),
    ...(told === undefined ? [] : [note(told)]),
    ...(sent === undefined
      ? untested === undefined
        ? []
        : [note(`${untested}; to test them with one event: ${remedy}`)]
      : [sent.isWell ? ok('  test event', sent.found) : fail('  test event', sent.why)]),
  ]
}

function sinkStep({ name }: { readonly name: string }): string {
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
    ...accountFindings(config, read),
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

function accountFindings({ api, accounts }: Config, read: readonly ZoneRead[]): Finding[] {
  return accounts.flatMap(({ name, zones }) => {
    const own = read.filter(({ zone }) => zone.account === name)
    if (own.length === 0) return []
    const fastest = Math.min(...own.map(({ tookMs }) => tookMs))
    const text = `${new URL(api.baseUrl).origin} accepts the key (account ${name}, ${fastest} ms)`
    const isWhole = own.length === zones.length
    return [
      ok('API', isWhole ? text : `${text}; ${own.length} of ${counted(zones.length, 'zone')} can be read`),
    ]
  })
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
  const names = zones.map(({ id, name }) => zoneText(id, name))
  const some = `${zones.length === 1 ? 'zone' : 'zones'} ${firstOf(names, mostZones)}`
  const rest = notAsked > 0 ? `; ${notAsked} of them were not tried` : ''
  const why = withRemedy(failure, `event_logs of account ${account}: `, isWhole)
  return fail('API', `account ${account}, ${isWhole && own > 1 ? `all ${own} zones` : some}: ${why}${rest}`)
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
  return [message.replace(prefix, ''), ...(remedy === undefined ? [] : [remedy])].join('; ')
}

/** What the API lists for an account that discovers its zones. */
function listFindings({ accounts }: Config, listed: AccountZones): Finding[] {
  if ('failure' in listed) return [fail('zones', withRemedy(listed.failure, '', true))]
  const { account, zones: all } = listed
  const { discovery, zones } = accounts.find(({ name }) => name === account)!
  const said = `account ${account}: the API lists`
  if (all.length === 0)
    return [fail('zones', `${said} no shield zones; create one, or use the key of another account`)]
  const unknown = (discovery?.exclude ?? []).filter((excluded) => all.every(({ id }) => id !== excluded))
  const left = all.length - zones.length
  const shipped = left === 0 ? '' : `; ${counted(zones.length, 'zone')} of them shipped, ${left} not`
  const why = `account ${account}: zones.exclude contains ${unknown.join(', ')}, which the API does not list`
  return [
    ok('zones', `${said} ${counted(all.length, 'zone')}${shipped}`),
    ...(unknown.length === 0 ? [] : [note(why)]),
  ]
}
