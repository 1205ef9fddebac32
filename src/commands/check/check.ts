import type { Command } from 'commander'
import { startChecks, type Checks } from '../../assemble/check.ts'
import type { Loaded } from '../../config/load/load.ts'
import { exitCodes, type Io } from '../io.ts'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { paintFor } from '../terminal/terminal.ts'
import { apiFindings, filterFindings, listedZoneFindings, zoneStep } from './api-findings.ts'
import { problemsIn, type Finding } from './finding.ts'
import {
  configurationFindings,
  heldFinding,
  portFindings,
  sinkFindings,
  sinkStep,
  stateFindings,
} from './findings.ts'
import { findingLines, stepWidth, summaryLine } from './text.ts'

interface CheckOptions {
  readonly offline?: boolean
  readonly sendTest?: boolean
  readonly json?: boolean
}

export function registerCheck({ command, io, exit, load }: Registration): void {
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
