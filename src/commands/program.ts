import { Command, Option } from 'commander'
import { version } from '../assemble/version.ts'
import type { Io } from './io.ts'
import type { Registration } from './registration.ts'
import { programName } from './program-name.ts'

const whatItIs = `ships Bunny Shield (bunny.net) WAF event logs to your SIEM;
not affiliated with bunny.net
`

/** Loads the file of a command when it is called. In the order of the help. */
const commandFiles: Readonly<Record<string, () => Promise<(registration: Registration) => void>>> = {
  run: async () => (await import('./run.ts')).registerRun,
  demo: async () => (await import('./try/demo.ts')).registerDemo,
  backfill: async () => (await import('./backfill/backfill.ts')).registerBackfill,
  status: async () => (await import('./status/status.ts')).registerStatus,
  check: async () => (await import('./check/check.ts')).registerCheck,
  fetch: async () => (await import('./look/fetch.ts')).registerFetch,
  tail: async () => (await import('./look/tail.ts')).registerTail,
  top: async () => (await import('./look/top.ts')).registerTop,
  audit: async () => (await import('./audit/audit.ts')).registerAudit,
  'dead-letters': async () => (await import('./dead-letters/dead-letters.ts')).registerDeadLetters,
  zones: async () => (await import('./api/zones.ts')).registerZones,
  init: async () => (await import('./init/init.ts')).registerInit,
  state: async () => (await import('./state.ts')).registerState,
  simulate: async () => (await import('./try/simulate.ts')).registerSimulate,
  config: async () => (await import('./config.ts')).registerConfig,
  'rate-limit': async () => (await import('./api/rate-limit.ts')).registerRateLimit,
  'upload-scanning': async () => (await import('./api/upload-scanning.ts')).registerUploadScanning,
  volumes: async () => (await import('./api/volumes.ts')).registerVolumes,
  health: async () => (await import('./health.ts')).registerHealth,
  completion: async () => (await import('./completion/completion.ts')).registerCompletion,
}

/**
 * The program with the commands that the words of `argv` may mean: with all of them where none is named, for their
 * help and for suggestions, and with none for `--version`.
 */
export async function createProgram(
  io: Io,
  exit: (code: number) => void,
  argv: readonly string[] = [],
): Promise<Command> {
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
  const names = argv[0] === '--version' ? [] : namesIn(argv)
  if (names.length === 0) return program
  const { loadConfig } = await import('../config/load/load.ts')
  const registration: Registration = {
    program,
    io,
    exit,
    load(command, needs = 'zones', overrides = {}) {
      const { config } = command.optsWithGlobals<{ config?: string }>()
      return loadConfig({ argv: { config, overrides }, needs })
    },
  }
  for (const name of names) (await commandFiles[name]!())(registration)
  for (const command of everyCommand(program)) {
    if (!command.options.some(({ long }) => long === '--config'))
      command.option('-c, --config <file>', 'configuration file')
  }
  return program
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...everyCommand(child)])
}

function namesIn(argv: readonly string[]): string[] {
  const names = Object.keys(commandFiles)
  const named = names.filter((name) => argv.includes(name))
  // A completion is made of all commands.
  return named.length === 0 || named.includes('completion') ? names : named
}
