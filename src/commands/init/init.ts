import { dirname, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { printable } from '../../domain/text/terminal-text.ts'
import { loadConfig } from '../../config/load.ts'
import { collectNames, nameList, unknownName } from '../options.ts'
import { example, programName } from '../program-name.ts'
import { exitCodes, type Io, UsageError, type Registration } from '../command.ts'
import {
  contextOf,
  type InitContext,
  type InitOptions,
  insist,
  askZones,
  askDestination,
  askName,
  askSettings,
  defaultsIn,
  tried,
} from './questions.ts'
import {
  documentText,
  literal,
  secretsIn,
  secretsInFiles,
  type Document,
  hasKeyInEnvironment,
  refuseExisting,
  writeNewFiles,
  KeptSecret,
  draftOf,
  refusal,
  answerText,
} from './document.ts'
import { destinations, setInSection, type Destination, setInSink, type Assignment } from './settings.ts'
import { openWork } from '../../assemble/work.ts'
import { listZones, meantZone } from '../../discovery/list-zones.ts'
import { ConfigErrors, type ConfigError } from '../../config/errors.ts'
import { Failure, messageOf, type FailureCode } from '../../domain/failure.ts'
import { wrapped } from '../terminal/text.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { property } from '../../config/shape.ts'

const help = `
Asks on a terminal for what the options do not give. A secret given with --set
is written to a separate file next to the configuration. If anything is invalid,
init writes nothing.
Without a terminal, or with --yes, it writes nothing if the API cannot be reached
either (exit code 1). Stopped at a question, it ends with exit code 1.
`

export function register({ command, io, exit }: Registration): void {
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
  const { check } = await import('../check.ts')
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

/** A key that the API was asked with. */
interface Access {
  /** The section `api` of the configuration. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Undefined where the API could not list them. */
  readonly listed: readonly ListedZone[] | undefined
}

const keyFile = 'access-key'

/** Takes the key from an option, from the environment, or from the person. Throws UsageError and Failure. */
async function chooseAccess(context: InitContext): Promise<Access> {
  const { options, asker, cwd, file, io } = context
  if (options.accessKeyFile !== undefined)
    return accessWith({ accessKeyFile: literal(resolve(cwd, options.accessKeyFile)) }, context)
  if (hasKeyInEnvironment()) {
    io.stderr.write('The access key is that of SHIELDLOG_API_ACCESS_KEY.\n')
    return accessWith({ accessKey: '${SHIELDLOG_API_ACCESS_KEY}' }, context)
  }
  if (asker === undefined) throw new UsageError('--access-key-file is missing')
  refuseExisting([resolve(dirname(file), keyFile)], `Use it with --access-key-file, or remove it.`)
  return insist(
    () => asker.askHidden('Access key of your bunny.net account (dashboard → Account → API): '),
    async (key) => {
      if (key === '') return undefined
      try {
        return await accessWith({ accessKey: new KeptSecret(keyFile, key) }, context)
      } catch (error) {
        if (!(error instanceof UsageError) && !isRefusedKey(error)) throw error
        asker.stderr.write(wrapped(`${printable(messageOf(error))}\n`, asker.stderr))
        return undefined
      }
    },
    asker,
  )
}

/** Where nobody answers, the key may be as wrong as the address. */
const unreachable: readonly FailureCode[] = ['network', 'timeout', 'tls']

function isRefusedKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'unauthorised'
}

/** Asks the API for the zones. A refused key is an error; another failure leaves the zones unknown. */
async function accessWith(key: Readonly<Record<string, unknown>>, context: InitContext): Promise<Access> {
  const { sections, cwd, io } = context
  const ofApi = sections.filter(({ path }) => path[0] === 'api')
  const document = ofApi.reduce<Record<string, unknown>>((held, one) => setInSection(held, one, cwd), {
    api: key,
  })
  const listed = await listWith(document, context)
  const settings = document['api'] as Record<string, unknown>
  if (!('failure' in listed)) {
    io.stderr.write('Key accepted.\n')
    return { settings, listed: listed.zones }
  }
  const { failure } = listed
  if (failure.code === 'unauthorised') throw failure
  const why = printable(messageOf(failure))
  if (context.asker === undefined && unreachable.includes(failure.code)) {
    const remedy = 'nothing was written: make the API reachable and run init again, or write the file by hand'
    throw new Failure(failure.kind, failure.code, `${why}; ${remedy}`, { cause: failure })
  }
  io.stderr.write(wrapped(`${why}\nThe key and the zones are not checked: run check later.\n`, io.stderr))
  return { settings, listed: undefined }
}

async function listWith(
  document: Readonly<Record<string, unknown>>,
  { cwd, io }: InitContext,
): Promise<{ readonly zones: readonly ListedZone[] } | { readonly failure: Failure }> {
  const { draft, env } = draftOf(document)
  let config
  try {
    ;({ config } = loadConfig({ draft, env, cwd, needs: 'key' }))
  } catch (error) {
    if (error instanceof ConfigErrors) throw refusal(error.errors)
    throw error
  }
  await using work = await openWork(config, {}, io.signal)
  const [account] = await listZones(work.reading.clientOf)(config.accounts, io.signal)
  if (account === undefined) throw new UsageError('the environment configures no account')
  return account
}

/** The section `zones` of the configuration. */
type ZonesToShip = 'all' | readonly ZoneToShip[]
type ZoneToShip = number | { readonly id: number; readonly name: string }

/** Takes the zones from the option, or asks for them. Throws UsageError. */
async function chooseZonesToShip({ listed }: Access, { options, asker }: InitContext): Promise<ZonesToShip> {
  if (options.zones !== undefined) return zonesOf(nameList(options.zones.join(',')), listed, '--zones')
  if (asker === undefined) throw new UsageError('--zones is missing')
  return askZones(listed ?? [], (text) => zonesOf(nameList(text), listed, 'zone'), asker)
}

/** `word` is what errors call an item: the option, or what was asked for. */
function zonesOf(
  names: readonly string[],
  listed: readonly ListedZone[] | undefined,
  word: string,
): ZonesToShip {
  if (names.length === 1 && names[0] === 'all') return 'all'
  if (names.length === 0) throw new UsageError(`${word} names no zone: write all, or ids such as 101,102`)
  const chosen = names.map((name) => (listed === undefined ? unlisted(name, word) : find(name, listed, word)))
  return [...new Map(chosen.map((zone) => [zone.id, zone])).values()].map((zone) => written(zone, listed))
}

function unlisted(name: string, word: string): Pick<ListedZone, 'id' | 'name'> {
  if (/^[1-9]\d{0,14}$/.test(name)) return { id: Number(name), name: '' }
  throw new UsageError(`${word} ${printable(name)} is not a zone id. Use an integer, such as 101.`)
}

function find(name: string, listed: readonly ListedZone[], word: string): ListedZone {
  const found = listed.find(({ id }) => String(id) === name) ?? listed.find((zone) => zone.name === name)
  if (found !== undefined) return found
  const known = listed.flatMap((zone) => [String(zone.id), ...(zone.name === '' ? [] : [zone.name])])
  const meant = meantZone(Number(name), listed)
  if (meant !== undefined) throw new UsageError(`${word} ${meant}`)
  throw unknownName({ option: word, name, what: 'is not a zone of this account', known })
}

/** With its name, where the configuration takes it: unique, and not the id of another zone. */
function written(
  { id, name }: Pick<ListedZone, 'id' | 'name'>,
  listed: readonly ListedZone[] = [],
): ZoneToShip {
  const isTaken = listed.some(
    (other) => other.id !== id && (other.name === name || String(other.id) === name),
  )
  return name === '' || name.length > 100 || name.includes('${') || isTaken ? id : { id, name }
}

/** One sink as the configuration has it; its secrets are KeptSecrets. */
type Sink = Readonly<Record<string, unknown>>

/**
 * The sink from options or answers, once a configuration with it loads. Throws UsageError; on a terminal it asks again
 * for an answer that is wrong.
 */
async function checkedDestination(
  documentWith: (sink: Sink) => Document,
  context: InitContext,
): Promise<Sink> {
  const { asker, options, ofSink, cwd, file } = context
  const errorsOf = (sink: Sink): readonly ConfigError[] => {
    const { draft, env } = draftOf(documentWith(sink))
    try {
      loadConfig({ draft, env, cwd })
      return []
    } catch (error) {
      if (error instanceof ConfigErrors) return error.errors
      throw error
    }
  }
  const refuse = (errors: readonly ConfigError[]) => {
    if (errors.length > 0) throw refusal(errors)
  }
  const destination =
    asker !== undefined && options.destination === undefined
      ? await askDestination(asker)
      : destinationOf(options.destination ?? '')
  const apply = (sink: Sink, assignments: readonly Assignment[]) =>
    assignments.reduce((held, one) => setInSink(held, one, { destination, cwd }), sink)
  const isNamed = ofSink.some(({ path }) => path[0] === 'name')
  const usual = usualName(destination)
  const name = asker === undefined || isNamed ? usual : await askName(usual, asker)
  const defaults = defaultsIn(dirname(file))
  const plain = apply({ name, ...destination.fixed }, [...optionsOf(destination, context), ...ofSink])
  if (asker === undefined) {
    const absent = (destination.form.required ?? []).filter((key) => !(key in plain) && key in defaults)
    const sink = apply(
      plain,
      absent.map((key) => ({ path: [key], text: defaults[key]! })),
    )
    refuse(errorsOf(sink))
    return sink
  }
  // What an option says would be wrong again, whatever is answered.
  refuse(errorsOf(plain).filter(({ path }) => isAtOneOf(path, Object.keys(plain))))
  const tryAnswers = (answers: readonly Assignment[]) => {
    const wrong = errorsOf(apply(plain, answers)).filter(({ path }) =>
      isAtOneOf(
        path,
        answers.map(({ path: [key = ''] }) => key),
      ),
    )
    if (wrong.length > 0) throw new UsageError(wrong.map(answerText).join('\n'))
  }
  return insist(
    async () => '',
    () =>
      tried(async () => {
        const sink = apply(plain, await askSettings(destination, plain, defaults, tryAnswers, asker))
        const errors = errorsOf(sink)
        if (errors.length > 0) throw new UsageError(errors.map(answerText).join('\n'))
        return sink
      }, asker),
    asker,
  )
}

/** Whether an error is about one of these settings of the sink. */
function isAtOneOf(path: string, keys: readonly string[]): boolean {
  return keys.some((key) => path === `sinks[0].${key}` || path.startsWith(`sinks[0].${key}.`))
}

/** A name says what the sink is for: a preset may change, and under another name everything would be shipped again. */
function usualName({ name }: Destination): string {
  if (name === 'file') return 'archive'
  return name === 'stdout' ? 'stdout' : 'siem'
}

function destinationOf(name: string): Destination {
  const all = destinations()
  const found = all.find((each) => each.name === name)
  if (found !== undefined) return found
  const names = all.map((each) => each.name)
  const near = nearest(name, names)
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  throw new UsageError(`--destination ${printable(name)} is unknown.${hint} There is ${names.join(', ')}.`)
}

/** `--path` and `--url`, for destinations that have such a setting. */
function optionsOf({ name, form }: Destination, { options }: InitContext): Assignment[] {
  return (['path', 'url'] as const).flatMap((key) => {
    const text = options[key]
    if (text === undefined) return []
    if (property(form, key) === undefined) throw new UsageError(`--${key}: destination ${name} has no ${key}`)
    return [{ path: [key], text }]
  })
}
