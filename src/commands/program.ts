import { Command, Option } from 'commander'
import { version } from '../assemble/version.ts'
import { loadConfig } from '../config/load/load.ts'
import type { Io } from './io.ts'
import type { Registration } from './registration.ts'
import { programName } from './program-name.ts'
import { registerAudit } from './audit/audit.ts'
import { registerBackfill } from './backfill/backfill.ts'
import { registerCheck } from './check.ts'
import { registerCompletion } from './completion/completion.ts'
import { registerConfig } from './config.ts'
import { registerDeadLetters } from './dead-letters/dead-letters.ts'
import { registerDemo } from './try/demo.ts'
import { registerFetch } from './fetch.ts'
import { registerHealth } from './health.ts'
import { registerRateLimit } from './api/rate-limit.ts'
import { registerRun } from './run.ts'
import { registerSimulate } from './try/simulate.ts'
import { registerState } from './state.ts'
import { registerStatus } from './status.ts'
import { registerUploadScanning } from './api/upload-scanning.ts'
import { registerVolumes } from './api/volumes.ts'
import { registerZones } from './api/zones.ts'

const whatItIs = `ships Bunny Shield (bunny.net) WAF event logs to your SIEM;
not affiliated with bunny.net
`

export function createProgram(io: Io, exit: (code: number) => void): Command {
  const program = new Command(programName())
    .version(version, '--version', 'print the version')
    .addOption(new Option('-c, --config <file>', 'configuration file; may stand after the command too'))
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command, with an example')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    })
    .addHelpText('before', whatItIs)
    .addHelpText('after', `\nTry it without an account:\n  ${programName()} demo\n`)
  const registration: Registration = {
    program,
    io,
    exit,
    load(command, needs = 'zones', overrides = {}) {
      const { config } = command.optsWithGlobals<{ config?: string }>()
      return loadConfig({ argv: { config, overrides }, needs })
    },
  }
  registerRun(registration)
  registerDemo(registration)
  registerBackfill(registration)
  registerStatus(registration)
  registerCheck(registration)
  registerFetch(registration)
  registerAudit(registration)
  registerDeadLetters(registration)
  registerState(registration)
  registerSimulate(registration)
  registerZones(registration)
  registerConfig(registration)
  registerRateLimit(registration)
  registerUploadScanning(registration)
  registerVolumes(registration)
  registerHealth(registration)
  registerCompletion(registration)
  for (const command of everyCommand(program)) {
    if (!command.options.some(({ long }) => long === '--config'))
      command.option('-c, --config <file>', 'configuration file')
  }
  return program
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...everyCommand(child)])
}
