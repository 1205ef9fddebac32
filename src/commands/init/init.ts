import { dirname, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { printable } from '../../domain/text/printable.ts'
import { loadConfig } from '../../config/load/load.ts'
import { collectNames } from '../arguments.ts'
import { example, programName } from '../program-name.ts'
import { exitCodes, type Io } from '../io.ts'
import { UsageError, type Registration } from '../registration.ts'
import { chooseAccess, type Access } from './access.ts'
import { contextOf, type InitContext, type InitOptions } from './context.ts'
import { checkedDestination, type Sink } from './sink.ts'
import { documentText, literal, secretsIn, secretsInFiles, type Document } from './document.ts'
import { hasKeyInEnvironment } from './draft.ts'
import { destinations } from './destinations.ts'
import { refuseExisting, writeNewFiles } from './files.ts'
import { setInSection } from './set.ts'
import { chooseZonesToShip, type ZonesToShip } from './zones-to-ship.ts'

const help = `
Asks on a terminal for what the options do not give. A secret given with --set
is written to a separate file next to the configuration. If anything is invalid,
init writes nothing.
Without a terminal, or with --yes, it writes nothing if the API cannot be reached
either (exit code 1). Stopped at a question, it ends with exit code 1.
`

export function registerInit({ command, io, exit }: Registration): void {
  const names = destinations().map(({ name }) => name)
  command
    .option('--file <file>', 'file to write; it must not exist (default: shieldlog.yaml)')
    .option('--access-key-file <file>', 'file that holds the access key of the account')
    .option('--zones <zones>', 'all, or ids or names; repeatable, takes comma lists', collectNames)
    .option('--destination <name>', `where events go: ${names.join(', ')}`)
    .option('--path <folder>', 'folder of destination file')
    .option('--url <url>', 'address of an HTTP destination')
    .option('--set <path=value>', 'another setting, such as index=waf; repeatable', collect)
    .option('--yes', 'ask nothing')
    .addHelpText('after', help)
    .addHelpText('after', example('init --access-key-file key --zones all --destination file'))
    .action(async (_: InitOptions, command: Command) => {
      const options = command.optsWithGlobals<InitOptions>()
      // In force where a signal ends it at a question: it has written nothing then.
      exit(exitCodes.failed)
      const file = await init(options, io).catch((error: unknown) => {
        if (io.signal.aborted) io.stderr.write('\nnothing was written\n')
        throw error
      })
      exit(exitCodes.done)
      if (options.yes !== true && (await wantsCheck(io))) exit(await checked(file, io))
    })
}

async function checked(file: string, io: Io): Promise<number> {
  const { check } = await import('../check/check.ts')
  return check(loadConfig({ argv: { config: file } }), {}, io)
}

function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** Writes the configuration and returns its path. Throws UsageError and Failure, and has written nothing then. */
export async function init(options: InitOptions, io: Io): Promise<string> {
  const context = contextOf(options, io)
  refuseExisting([context.file], 'Name another file with --file, or remove that one.')
  requireAnswers(context)
  const access = await chooseAccess(context)
  const zones = await chooseZonesToShip(access, context)
  const sink = await checkedDestination((each) => documentOf({ access, zones, sink: each }, context), context)
  const document = documentOf({ access, zones, sink }, context)
  const folder = dirname(context.file)
  const secrets = secretsIn(document).map(({ file, value }) => ({
    path: resolve(folder, file),
    text: `${value}\n`,
  }))
  const text = documentText(
    document,
    secretsInFiles((name) => resolve(folder, name)),
  )
  refuseExisting(
    secrets.map(({ path }) => path),
    'Remove it, or give the secret as a template such as ${NAME}.',
  )
  writeNewFiles([...secrets, { path: context.file, text }])
  for (const line of closing(context, secrets.length)) io.stdout.write(`${line}\n`)
  return context.file
}

/** Without a terminal all missing options are reported at once. */
function requireAnswers({ options, asker }: InitContext): void {
  if (asker !== undefined) return
  const hasKey = options.accessKeyFile !== undefined || hasKeyInEnvironment()
  const missing = [
    ...(hasKey ? [] : ['--access-key-file']),
    ...(options.zones === undefined ? ['--zones'] : []),
    ...(options.destination === undefined ? ['--destination'] : []),
  ]
  if (missing.length === 0) return
  throw new UsageError(`this is not a terminal, so init cannot ask: give ${missing.join(', ')}`)
}

interface Answers {
  readonly access: Access
  readonly zones: ZonesToShip
  readonly sink: Sink
}

function documentOf({ access, zones, sink }: Answers, { file, sections, cwd }: InitContext): Document {
  const state = `sqlite:${literal(resolve(dirname(file), 'var/shieldlog.db'))}`
  const plain: Record<string, unknown> = { api: access.settings, zones, state, sinks: [sink] }
  return sections.reduce((document, assignment) => setInSection(document, assignment, cwd), plain)
}

function closing({ file, cwd }: InitContext, secrets: number): string[] {
  const short = relative(cwd, file)
  const name = short.startsWith('..') ? file : short
  const option = name === 'shieldlog.yaml' ? '' : ` -c ${printable(name)}`
  const beside =
    secrets === 0
      ? ''
      : secrets === 1
        ? ' and a secret file next to it'
        : ` and ${secrets} secret files next to it`
  return [
    `Wrote ${printable(name)} (mode 0600)${beside}.`,
    '',
    'Next:',
    `  ${programName()} check${option}    try all of it`,
    `  ${programName()} run${option}      ship events`,
  ]
}

async function wantsCheck({ ask, askHidden, signal }: Io): Promise<boolean> {
  if (ask === undefined || askHidden === undefined) return false
  const answer = await ask('\nTry it now with check? [Y/n] ')
  // A signal counts as an empty answer.
  return !signal.aborted && /^(?:y(?:es)?)?$/i.test(answer.trim())
}
