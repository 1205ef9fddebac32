import type { Registration, Io } from './command.ts'
import { Command, Option } from 'commander'
import { version } from '../assemble/version.ts'
import { programName } from './program-name.ts'
import { wrapped } from './terminal/terminal.ts'

export interface ListedCommand {
  /** One line of the help. */
  readonly description: string
  /** Its argument, if any. */
  readonly argument?: string
  /** Loads the file of the command; the result adds its options and what it does. */
  readonly register: () => Promise<(registration: Registration) => void>
}

/** All commands by name, in the order of the help. The help needs only this list, not the files of the commands. */
export const listedCommands: Readonly<Record<string, ListedCommand>> = {
  run: {
    description: 'ship events until stopped',
    register: async () => (await import('./run.ts')).registerRun,
  },
  demo: {
    description: 'run everything against the simulator: no key, file or server needed',
    register: async () => (await import('./demo.ts')).registerDemo,
  },
  backfill: {
    description: 'read past days again and ship what is missing',
    register: async () => (await import('./backfill/backfill.ts')).registerBackfill,
  },
  status: {
    description: 'show each zone and sink: state, lag, events, last error',
    register: async () => (await import('./status/status.ts')).registerStatus,
  },
  check: {
    description: 'try what run does: configuration, API, state, port and sinks',
    register: async () => (await import('./check/check.ts')).registerCheck,
  },
  fetch: {
    description: 'print events of a day, without using the state',
    register: async () => (await import('./fetch.ts')).registerFetch,
  },
  tail: {
    description: 'print events as they come, until stopped, without using the state',
    register: async () => (await import('./tail.ts')).registerTail,
  },
  top: {
    description: 'count recent events by rule, address, country, ASN, URL or action',
    register: async () => (await import('./top.ts')).registerTop,
  },
  audit: {
    description: 'read days again and compare them with what was shipped',
    register: async () => (await import('./audit/audit.ts')).registerAudit,
  },
  'dead-letters': {
    description: 'list, show, export, replay or drop the events that a sink refused',
    register: async () => (await import('./dead-letters/dead-letters.ts')).registerDeadLetters,
  },
  gaps: {
    description: 'list or acknowledge the days of which events were lost',
    register: async () => (await import('./gaps.ts')).registerGaps,
  },
  zones: {
    description: 'list the shield zones of the account',
    register: async () => (await import('./zones.ts')).registerZones,
  },
  init: {
    description: 'write a commented configuration, from questions or options',
    register: async () => (await import('./init/init.ts')).registerInit,
  },
  state: {
    description: 'change names in the store',
    register: async () => (await import('./state.ts')).registerState,
  },
  simulate: {
    description: 'serve the simulator of the API and print its address',
    register: async () => (await import('./simulate.ts')).registerSimulate,
  },
  config: {
    description: 'show the effective settings, or all possible settings',
    register: async () => (await import('./config.ts')).registerConfig,
  },
  'rate-limit': {
    description: 'change rate limit rules',
    register: async () => (await import('./rate-limit.ts')).registerRateLimit,
  },
  'upload-scanning': {
    description: 'print what upload scanning did in zones in the past 28 days',
    register: async () => (await import('./upload-scanning.ts')).registerUploadScanning,
  },
  volumes: {
    description: 'print the volumes of a container application and how full they are',
    register: async () => (await import('./volumes.ts')).registerVolumes,
  },
  health: {
    description: 'for probes: exit 0 while /healthz of the configured server answers',
    register: async () => (await import('./health.ts')).registerHealth,
  },
  completion: {
    description: 'print a completion script for a shell',
    argument: '<shell>',
    register: async () => (await import('./completion.ts')).registerCompletion,
  },
}

const whatItIs = `ships Bunny Shield (bunny.net) WAF event logs to your SIEM;
not affiliated with bunny.net
`

/**
 * The program with the commands that the words of `argv` may mean. Where none is named, it has only the names and
 * descriptions of all, for the help and for suggestions; without `argv` it has all of them whole.
 */
export async function createProgram(
  io: Io,
  exit: (code: number) => void,
  argv?: readonly string[],
): Promise<Command> {
  const program = new Command(programName())
    .version(version, '--version', 'print the version')
    .addOption(new Option('-c, --config <file>', 'configuration file; before or after the command'))
    .helpOption('-h, --help', 'show help')
    .configureHelp({ subcommandTerm: termOf })
    .helpCommand('help [command]', 'show help for a command, with an example')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(wrapped(text, io.stderr)),
      outputError: (text, write) => write(`${text}${remedyOf(text, program)}`),
    })
    .addHelpText('before', whatItIs)
    .addHelpText('after', `\nTry it without an account:\n  ${programName()} demo\n`)
  const named = argv === undefined ? names : namesIn(argv)
  if (named.length === 0) return argv?.[0] === '--version' ? program : describeAll(program)
  const { loadConfig } = await import('../config/load.ts')
  const load: Registration['load'] = (command, needs = 'zones', overrides = {}) => {
    const { config } = command.optsWithGlobals<{ config?: string }>()
    return loadConfig({ argv: { config, overrides }, needs })
  }
  for (const name of named) {
    const { description, register } = listedCommands[name]!
    const complete = await register()
    complete({ program, command: program.command(name).description(description), io, exit, load })
  }
  for (const command of everyCommand(program)) {
    command.configureOutput({ outputError: (text, write) => write(`${text}${remedyOf(text, command)}`) })
    if (!command.options.some(({ long }) => long === '--config'))
      command.option('-c, --config <file>', 'configuration file')
  }
  return program
}

/** For errors of the parser that do not say themselves what to do. */
function remedyOf(error: string, command: Command): string {
  if (!/^error: (too many arguments|missing required|unknown|option .* argument missing)/.test(error))
    return ''
  if (error.includes('Did you mean')) return ''
  return `for help: ${pathOf(command)} --help\n`
}

/** `shieldlog dead-letters show`. */
function pathOf(command: Command): string {
  return command.parent === null ? programName() : `${pathOf(command.parent)} ${command.name()}`
}

/** The name and the arguments of a command; all have options. */
function termOf(command: Command): string {
  const args = command.registeredArguments.map((each) =>
    each.required ? `<${each.name()}>` : `[${each.name()}]`,
  )
  return [command.name(), ...args].join(' ')
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...everyCommand(child)])
}

const names = Object.keys(listedCommands)

function namesIn(argv: readonly string[]): string[] {
  const named = names.filter((name) => argv.includes(name))
  // A completion is made of all commands.
  return named.includes('completion') ? names : named
}

/** Adds what the help of the program shows of each command. */
function describeAll(program: Command): Command {
  for (const [name, { description, argument = '' }] of Object.entries(listedCommands))
    program.command(`${name} ${argument}`.trim()).description(description)
  return program
}
