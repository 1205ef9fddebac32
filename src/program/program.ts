import type { Registration } from '../tasks/command.ts'
import { programName } from '../terminal/program-name.ts'
import type { Io } from '../terminal/io.ts'
import { Command, Option } from 'commander'
import { version } from '../assemble/version.ts'
import { wrapped } from '../terminal/text.ts'

type Module = { readonly register: (registration: Registration) => void }

/**
 * All commands, in the order of the help: the name, with the argument where the help shows one, one line of the help,
 * and the file that adds the options and what the command does. The help needs only this list, not the files.
 */
const commands: readonly (readonly [name: string, description: string, load: () => Promise<Module>])[] = [
  ['run', 'ship events until stopped', () => import('../tasks/run/command.ts')],
  [
    'demo',
    'run everything against the simulator: no key, file or server needed',
    () => import('../tasks/run/demo.ts'),
  ],
  ['backfill', 'read past days again and ship what is missing', () => import('../tasks/backfill/command.ts')],
  [
    'status',
    'show each zone and sink: state, lag, events, last error',
    () => import('../tasks/status/command.ts'),
  ],
  [
    'check',
    'try what run does: configuration, API, state, port and sinks',
    () => import('../tasks/check/command.ts'),
  ],
  ['fetch', 'print events of a day, without using the state', () => import('../tasks/look/fetch.ts')],
  [
    'tail',
    'print events as they come, until stopped, without using the state',
    () => import('../tasks/look/tail.ts'),
  ],
  [
    'top',
    'count recent events by rule, address, country, ASN, URL or action',
    () => import('../tasks/look/top.ts'),
  ],
  [
    'audit',
    'read days again and compare them with what was shipped',
    () => import('../tasks/audit/command.ts'),
  ],
  [
    'dead-letters',
    'list, show, export, replay or drop refused events',
    () => import('../tasks/dead-letters/command.ts'),
  ],
  [
    'gaps',
    'list or acknowledge the days of which events were lost',
    () => import('../tasks/gaps/command.ts'),
  ],
  [
    'probe',
    'find out how the API lists events, and which settings follow',
    () => import('../tasks/probe/command.ts'),
  ],
  [
    'notify',
    'send a message to the places that are told of problems',
    () => import('../tasks/notify/command.ts'),
  ],
  ['zones', 'list the shield zones of the account', () => import('../tasks/zones/command.ts')],
  [
    'init',
    'write a commented configuration, from questions or options',
    () => import('../tasks/init/command.ts'),
  ],
  [
    'state',
    'copy the state; rename or forget sinks and zones in it',
    () => import('../tasks/state/command.ts'),
  ],
  [
    'simulate',
    'serve the simulator of the API and print its address',
    () => import('../tasks/simulate/command.ts'),
  ],
  [
    'config',
    'show the effective settings, or all possible settings',
    () => import('../tasks/config/command.ts'),
  ],
  ['rate-limit', 'change rate limit rules', () => import('../tasks/rate-limit/command.ts')],
  [
    'upload-scanning',
    'print what upload scanning did in 28 days',
    () => import('../tasks/figures/upload-scanning.ts'),
  ],
  [
    'volumes',
    'print the volumes of an application and how full they are',
    () => import('../tasks/figures/volumes.ts'),
  ],
  ['health', 'for probes: exit 0 while /healthz answers', () => import('../tasks/health/command.ts')],
  [
    'completion <shell>',
    'print a completion script for a shell',
    () => import('../tasks/completion/command.ts'),
  ],
]

const whatItIs = `ships Bunny Shield (bunny.net) WAF event logs to your SIEM;
not affiliated with bunny.net
`

/**
 * The program with the commands that the words of `argv` may mean; of the others it has the names and descriptions, for
 * the help and for suggestions. Without `argv` it has all of them whole.
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
    .showHelpAfterError('for help, add --help to the command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(wrapped(text, io.stderr)),
    })
    .addHelpText('before', whatItIs)
    .addHelpText('after', `\nTry it without an account:\n  ${programName()} demo\n`)
  if (argv?.[0] === '--version') return program
  async function call(words: readonly string[]): Promise<number> {
    let code = 0
    const other = await createProgram(io, (next) => void (code = next), words)
    await other.parseAsync(words, { from: 'user' })
    return code
  }
  for (const [usage, description, file] of commands) {
    const [name = ''] = usage.split(' ')
    const isMeant = argv === undefined || argv.includes(name)
    const command = program.command(isMeant ? name : usage).description(description)
    if (isMeant) (await file()).register({ program, command, io, exit, call, ...(await opener(io)) })
  }
  for (const command of everyCommand(program))
    if (!command.options.some(({ long }) => long === '--config'))
      command.option('-c, --config <file>', 'configuration file')
  return program
}

/** Takes most of a start, so only what runs a command asks for it. */
async function opener(io: Io): Promise<Pick<Registration, 'load' | 'open'>> {
  const { loadConfig } = await import('../config/load.ts')
  const load: Registration['load'] = (command, needs = 'zones') => {
    const { config } = command.optsWithGlobals<{ config?: string }>()
    return loadConfig({ argv: { config }, needs })
  }
  const open: Registration['open'] = async (command, needs, opened) => {
    const { config } = load(command, needs)
    const { openWork } = await import('../assemble/work.ts')
    return openWork(config, opened, io.signal)
  }
  return { load, open }
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
