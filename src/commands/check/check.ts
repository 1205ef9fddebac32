import type { Command } from 'commander'
import { startChecks, type Checks } from '../../assemble/check.ts'
import type { Loaded } from '../../config/load.ts'
import { exitCodes, type Io } from '../command.ts'
import type { Registration } from '../command.ts'
import { example } from '../program-name.ts'
import { jsonResult } from '../terminal/text.ts'
import { paintFor } from '../terminal/terminal.ts'
import {
  apiFindings,
  filterFindings,
  listedZoneFindings,
  zoneStep,
  problemsIn,
  type Finding,
  configurationFindings,
  heldFinding,
  portFindings,
  sinkFindings,
  sinkStep,
  stateFindings,
} from './findings.ts'
import { wrapPlain } from '../../domain/text/terminal-text.ts'
import type { Paint } from '../terminal/terminal.ts'

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
