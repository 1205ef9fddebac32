import type { Command } from 'commander'
import { check as findingsOf, type CheckOptions } from './check.ts'
import { zoneStep } from './api.ts'
import type { StepResult } from './result.ts'
import { sinkStep } from './sinks.ts'
import type { Loaded } from '../../config/load.ts'
import { counted, printable, wrapPlain } from '../../domain/text/terminal-text.ts'
import { exitCodes, type Registration } from '../command.ts'
import { commandLine, example } from '../../terminal/program-name.ts'
import type { Io } from '../../terminal/io.ts'
import { jsonResult, paintFor, type Paint } from '../../terminal/text.ts'

export function register({ command, io, exit, load }: Registration): void {
  command
    .option('--offline', 'check only the configuration')
    .option('--send-test', 'send one event, marked as a test, to each sink but files and stdout')
    .option('--json', 'as JSON')
    .addHelpText('after', example('check -c shieldlog.yaml'))
    .action(async (options: CheckOptions, command: Command) => exit(await check(load(command), options, io)))
}

/** Prints each finding as it comes; resolves to the exit code. */
export async function check(loaded: Loaded, options: CheckOptions, { stdout, signal }: Io): Promise<number> {
  const { json = false } = options
  const paint = paintFor(stdout)
  const { zones, sinks } = loaded.config
  const steps = [...zones.map(zoneStep), ...sinks.map(sinkStep)].map(({ length }) => length)
  const stepWidth = Math.min(mostStepWidth, Math.max(leastStepWidth, ...steps))
  const findings: StepResult[] = []
  for await (const { step, mark, text, command } of findingsOf(loaded, options, signal)) {
    const told = command === undefined ? text : `${text}: ${commandLine(command)}`
    const finding = { step, mark, text: printable(told) }
    findings.push({ ...finding, step: step.trim() })
    if (!json) stdout.write(findingLines(finding, stepWidth, paint))
  }
  const problems = findings.filter(({ mark }) => mark === 'fail').length
  const them = problems === 1 ? 'it' : 'them'
  const sum = `${counted(problems, 'problem')}. Fix ${them} and run check again.`
  const summary = problems === 0 ? paint.good('No problems.') : paint.bad(sum)
  stdout.write(json ? jsonResult({ problems, findings }) : `\n${summary}\n`)
  return exitCodeOf(problems)
}

function exitCodeOf(problems: number): number {
  return problems > 0 ? exitCodes.failed : exitCodes.done
}

/** Of the column of the steps; a longer one moves its own line. */
const [leastStepWidth, mostStepWidth] = [15, 40]

function findingLines({ step, mark, text }: StepResult, stepWidth: number, paint: Paint): string {
  const head = `${step.padEnd(stepWidth)}  `
  const words = { ok: paint.good('ok  '), note: 'note', fail: paint.bad('FAIL') }
  const lines = wrapPlain(text, Math.max(20, paint.width - head.length - 6))
  return `${head}${words[mark]}  ${lines.join(`\n${' '.repeat(head.length + 6)}`)}\n`
}
