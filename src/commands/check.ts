import type { Command } from 'commander'
import { checkConfig } from '../assemble/tasks/check.ts'
import type { Loaded } from '../config/load/load.ts'
import { checkProblems, checkSummary, checkWarnings, configurationLine } from './check-text.ts'
import { exitCodes, type Io } from './io.ts'
import type { Registration } from './registration.ts'
import { example } from './program-name.ts'

export function registerCheck({ program, io, exit, load }: Registration): void {
  program
    .command('check')
    .description('try configuration, API, sinks and state, and name all problems at once')
    .option('--offline', 'the configuration only')
    .addHelpText('after', example('check -c shieldlog.yaml'))
    .action(async ({ offline }: { offline?: boolean }, command: Command) => {
      const loaded = load(command)
      for (const text of loaded.warnings) io.stderr.write(`warning: ${text}\n`)
      io.stdout.write(`${configurationLine(loaded)}\n`)
      if (offline !== true) exit(await checkOnline(loaded, io))
    })
}

async function checkOnline({ config }: Loaded, io: Io): Promise<number> {
  const checked = await checkConfig(config, io.signal)
  for (const line of checkSummary(config, checked)) io.stdout.write(`${line}\n`)
  for (const line of checkWarnings(checked)) io.stderr.write(`${line}\n`)
  const problems = checkProblems(config, checked)
  for (const line of problems) io.stderr.write(`${line}\n`)
  return problems.length > 0 ? exitCodes.failed : exitCodes.done
}
