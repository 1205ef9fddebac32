import { dirname, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { openWork } from '../../assemble/work.ts'
import { fileShape } from '../../config/file-shape.ts'
import { loadConfig } from '../../config/load.ts'
import { property } from '../../config/shape.ts'
import { literal } from '../../config/templates.ts'
import { listZones, meantZone } from '../../discovery/list-zones.ts'
import { Failure, type FailureCode, isFailure, messageOf } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'
import { exitCodes, type Io, type Registration, UsageError } from '../command.ts'
import { collectNames, nameList, unknownName } from '../options.ts'
import { example, programName } from '../program-name.ts'
import { counted, wrapped } from '../terminal/text.ts'
import {
  assign,
  type Assignment,
  destinations,
  type Draft,
  filesOf,
  hasKeyInEnvironment,
  isOfSection,
  KeptSecret,
  loadDraft,
  parseAssignment,
  refuseExisting,
  writeNewFiles,
} from './draft.ts'
import { askDestination, type Asker, askZones, insist, questionsFor } from './questions.ts'

const help = `
Asks on a terminal for what the options do not give. A secret given with --set
is written to a separate file next to the configuration. If anything is invalid,
init writes nothing.
Without a terminal, or with --yes, it writes nothing if the API cannot be reached
either (exit code 1). Stopped at a question, it ends with exit code 1.
`

interface InitOptions {
  readonly file?: string
  /** The file that -c names, where `--file` names none. */
  readonly config?: string
  readonly accessKeyFile?: string
  readonly zones?: string[]
  readonly destination?: string
  readonly path?: string
  readonly url?: string
  readonly set?: string[]
  readonly yes?: boolean
}

export function register({ command, io, exit }: Registration): void {
  const names = destinations().map(({ name }) => name)
  const collect = (text: string, before: readonly string[] = []) => [...before, text]
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
      if (options.yes !== true) exit(await offerCheck(file, io))
    })
}

/** Runs check on what was written, if the user wants it; the exit code. */
async function offerCheck(file: string, io: Io): Promise<number> {
  const answer = (await io.ask?.('\nTry it now with check? [Y/n] ')) ?? 'n'
  // A signal counts as an empty answer.
  if (io.signal.aborted || !/^(?:y(?:es)?)?$/i.test(answer.trim())) return exitCodes.done
  const { check } = await import('../check.ts')
  return check(loadConfig({ argv: { config: file } }), {}, io)
}

/** What every step needs. */
interface Context {
  readonly options: InitOptions
  readonly io: Io
  /** Absent without a terminal. */
  readonly asker: Asker | undefined
  /** The file to write, absolute. */
  readonly file: string
  readonly cwd: string
  readonly assignments: readonly Assignment[]
}

/** Writes the configuration and returns its path. Throws UsageError and Failure, and has written nothing then. */
async function init(options: InitOptions, io: Io): Promise<string> {
  const cwd = process.cwd()
  const { ask, askHidden, stderr, signal } = io
  const canAsk = options.yes !== true && ask !== undefined && askHidden !== undefined
  const asker = canAsk ? { ask, askHidden, stderr, signal } : undefined
  const file = resolve(cwd, options.file ?? options.config ?? 'shieldlog.yaml')
  const assignments = (options.set ?? []).map(parseAssignment)
  const context = { options, io, asker, file, cwd, assignments }
  refuseExisting([file], 'Name another file with --file, or remove that one.')
  if (asker === undefined) requireOptions(options)
  const { draft, listed } = await chooseAccess(context)
  const { api, state, ...sections } = draft
  const zones = await chooseZones(listed, context)
  const complete = (sink: Draft) => ({ api, zones, state, sinks: [sink], ...sections })
  const files = filesOf(complete(await chooseSink(complete, context)), file)
  const secrets = files.length - 1
  refuseExisting(
    files.slice(0, secrets).map(({ path }) => path),
    'Remove it, or give the secret as a template such as ${NAME}.',
  )
  writeNewFiles(files)
  const short = relative(cwd, file)
  const name = printable(short.startsWith('..') ? file : short)
  const option = name === 'shieldlog.yaml' ? '' : ` -c ${name}`
  const beside = secrets === 0 ? '' : ` and ${counted(secrets, 'secret file')} next to it`
  io.stdout.write(`Wrote ${name} (mode 0600)${beside}.

Next:
  ${programName()} check${option}    try all of it
  ${programName()} run${option}      ship events
`)
  return file
}

/** Without a terminal all missing options are reported at once. */
function requireOptions({ accessKeyFile, zones, destination }: InitOptions): void {
  const isKeyGiven = accessKeyFile !== undefined || hasKeyInEnvironment()
  const missing = [
    !isKeyGiven && '--access-key-file',
    zones === undefined && '--zones',
    destination === undefined && '--destination',
  ].filter((name) => name !== false)
  if (missing.length > 0)
    throw new UsageError(`this is not a terminal, so init cannot ask: give ${missing.join(', ')}`)
}

/** A key that the API was asked with. */
interface Access {
  /** All sections but zones and sinks. */
  readonly draft: Draft
  /** Undefined where the API could not list them. */
  readonly listed: readonly ListedZone[] | undefined
}

const keyFile = 'access-key'

/** Takes the key from an option, from the environment, or from the person. Throws UsageError and Failure. */
async function chooseAccess(context: Context): Promise<Access> {
  const { options, asker, cwd, file, io } = context
  if (options.accessKeyFile !== undefined)
    return accessWith({ accessKeyFile: literal(resolve(cwd, options.accessKeyFile)) }, context)
  if (asker === undefined || hasKeyInEnvironment()) {
    io.stderr.write('The access key is that of SHIELDLOG_API_ACCESS_KEY.\n')
    return accessWith({ accessKey: '${SHIELDLOG_API_ACCESS_KEY}' }, context)
  }
  refuseExisting([resolve(dirname(file), keyFile)], `Use it with --access-key-file, or remove it.`)
  return insist(
    'Access key of your bunny.net account (dashboard → Account → API): ',
    async (key) => {
      try {
        return await accessWith({ accessKey: new KeptSecret(keyFile, key) }, context)
      } catch (error) {
        if (!isFailure(error, 'unauthorised')) throw error
        throw new UsageError(printable(messageOf(error)))
      }
    },
    asker,
    true,
  )
}

/** Where nobody answers, the key may be as wrong as the address. */
const unreachable: readonly FailureCode[] = ['network', 'timeout', 'tls']

/** Asks the API for the zones. A refused key is an error; another failure leaves the zones unknown. */
async function accessWith(key: Draft, { assignments, file, cwd, io, asker }: Context): Promise<Access> {
  const plain = { api: key, state: `sqlite:${literal(resolve(dirname(file), 'var/shieldlog.db'))}` }
  const draft = assignments
    .filter(isOfSection)
    .reduce<Draft>((held, one) => assign(held, one, { shape: fileShape, prefix: '', cwd }), plain)
  await using work = await openWork(loadDraft(draft, cwd, { needs: 'key' })!, {}, io.signal)
  const [account] = await listZones(work.reading.clientOf)(work.config.accounts, io.signal)
  if (account !== undefined && 'zones' in account) {
    io.stderr.write('Key accepted.\n')
    return { draft, listed: account.zones }
  }
  const failure = account!.failure
  if (failure.code === 'unauthorised') throw failure
  const why = printable(messageOf(failure))
  if (asker === undefined && unreachable.includes(failure.code)) {
    const remedy = 'nothing was written: make the API reachable and run init again, or write the file by hand'
    throw new Failure(failure.kind, failure.code, `${why}; ${remedy}`, { cause: failure })
  }
  io.stderr.write(wrapped(`${why}\nThe key and the zones are not checked: run check later.\n`, io.stderr))
  return { draft, listed: undefined }
}

type ZoneToShip = number | Pick<ListedZone, 'id' | 'name'>

/** Takes the zones from the option, or asks for them. Throws UsageError. */
async function chooseZones(
  listed: readonly ListedZone[] | undefined,
  { options, asker }: Context,
): Promise<'all' | readonly ZoneToShip[]> {
  const choose = (word: string) => (text: string) => {
    const names = nameList(text)
    if (names.length === 1 && names[0] === 'all') return 'all' as const
    if (names.length === 0) throw new UsageError(`${word} names no zone: write all, or ids such as 101,102`)
    const chosen = names.map((name) => zoneOf(name, listed, word))
    return [...new Map(chosen.map((zone) => [typeof zone === 'number' ? zone : zone.id, zone])).values()]
  }
  if (options.zones !== undefined || asker === undefined)
    return choose('--zones')(options.zones?.join(',') ?? '')
  return askZones(listed ?? [], choose('zone'), asker)
}

/** `word` is what errors call it: the option, or what was asked for. */
function zoneOf(text: string, listed: readonly ListedZone[] | undefined, word: string): ZoneToShip {
  if (listed === undefined) {
    if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
    throw new UsageError(`${word} ${printable(text)} is not a zone id. Use an integer, such as 101.`)
  }
  const found = listed.find(({ id }) => String(id) === text) ?? listed.find((zone) => zone.name === text)
  if (found === undefined) {
    const meant = meantZone(Number(text), listed)
    if (meant !== undefined) throw new UsageError(`${word} ${meant}`)
    const known = listed.flatMap((zone) => [String(zone.id), ...(zone.name === '' ? [] : [zone.name])])
    throw unknownName({ option: word, name: text, what: 'is not a zone of this account', known })
  }
  // With its name, where the configuration takes it: unique, and not the id of another zone.
  const { id, name } = found
  const isTaken = listed.some((each) => each.id !== id && [each.name, String(each.id)].includes(name))
  return name === '' || name.length > 100 || name.includes('${') || isTaken ? id : { id, name }
}

/**
 * The sink from options or answers, once a configuration with it loads. Throws UsageError; on a terminal it asks again
 * for an answer that is wrong.
 */
async function chooseSink(complete: (sink: Draft) => Draft, context: Context): Promise<Draft> {
  const { asker, options, assignments, cwd, file } = context
  const isAskedFor = asker !== undefined && options.destination === undefined
  const destination = isAskedFor ? await askDestination(asker) : destinationOf(options.destination ?? '')
  const { form, fixed } = destination
  const set = (held: Draft, one: Assignment) =>
    assign(held, one, { shape: form, prefix: `${destination.name}-`, cwd })
  const named = (['path', 'url'] as const).flatMap((key) => {
    const text = options[key]
    if (text === undefined) return []
    if (property(form, key) === undefined)
      throw new UsageError(
        `--${key} does not go with --destination ${destination.name}; leave one of them out`,
      )
    return [{ path: [key], text }]
  })
  const given = [...named, ...assignments.filter((one) => !isOfSection(one))]
  const names: Readonly<Record<string, string>> = { file: 'archive', stdout: 'stdout' }
  // A name says what the sink is for: under another name, as of another preset later, everything is shipped again.
  const usual = {
    name: names[destination.name] ?? 'siem',
    path: literal(resolve(dirname(file), 'var/events')),
  }
  let sink = given.reduce<Draft>(set, fixed)
  // What an option says would be wrong again, whatever is answered.
  if (asker !== undefined) loadDraft(complete(sink), cwd, { only: Object.keys(sink) })
  for (const { path, text, isHidden, fallback } of questionsFor(form, sink, usual)) {
    const before = sink
    const accept = (answer: string) => {
      const chosen = answer === '' ? fallback : answer
      if (chosen === undefined) throw new UsageError(`${path.join('.')} is needed.`)
      if (chosen === '') return before
      const next = set(before, { path, text: chosen, isHidden })
      loadDraft(complete(next), cwd, { only: path.slice(0, 1) })
      return next
    }
    if (asker !== undefined) sink = await insist(text, accept, asker, isHidden)
    else if (fallback !== undefined) sink = accept(fallback)
  }
  loadDraft(complete(sink), cwd)
  return sink
}

function destinationOf(name: string) {
  const known = destinations().map((each) => each.name)
  const found = destinations()[known.indexOf(name)]
  if (found === undefined) throw unknownName({ option: '--destination', name, what: 'is unknown', known })
  return found
}
