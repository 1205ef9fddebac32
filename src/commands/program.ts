import { Command, Option } from 'commander'
import { version } from '../assemble/version.ts'
import type { Io } from './io.ts'
import type { Registration } from './registration.ts'
import { listedCommands } from './command-list.ts'
import { programName } from './program-name.ts'
import { wrapped } from './terminal/wrapped.ts'

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
  const { loadConfig } = await import('../config/load/load.ts')
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
