import { dirname, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { openWork } from '../../assemble/work.ts'
import { fileShape } from '../../config/file-shape.ts'
import { literal } from '../../config/templates.ts'
import { listZones } from '../../discovery/list-zones.ts'
import { Failure, type FailureCode, messageOf } from '../../domain/failure.ts'
import { counted, printable } from '../../domain/text/terminal-text.ts'
import { Secret } from '../../domain/text/secret.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example, programName } from '../../terminal/program-name.ts'
import { type Io, UsageError } from '../../terminal/io.ts'
import { collectNames } from '../options.ts'
import { wrapped } from '../../terminal/text.ts'
import {
  destinations,
  parseAssignment,
  type Draft,
  isOfSection,
  assignTo,
  loadDraft,
  type Destination,
  withValue,
} from './draft.ts'
import {
  type InitOptions,
  settle,
  zonesStep,
  destinationStep,
  type Context,
  type Step,
  questionsFor,
} from './questions.ts'
import { refuseExisting, filesOf, writeNewFiles, keyFile } from './files.ts'

const help = `
Asks on a terminal for what the options do not give. A secret given with --set
is written to a separate file next to the configuration. If anything is invalid,
init writes nothing.
Without a terminal, or with --yes, it writes nothing if the API cannot be reached
either (exit code 1). Stopped at a question, it ends with exit code 1.
`

export function register({ command, io, exit, call }: Registration): void {
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
      // In force where a signal ends it at a question.
      exit(exitCodeOf('nothing'))
      const file = await init(options, io).catch((error: unknown) => {
        if (io.signal.aborted) io.stderr.write('\nnothing was written\n')
        throw error
      })
      exit(exitCodeOf('all'))
      if (options.yes !== true) exit(await offerCheck(file, io, call))
    })
}

function exitCodeOf(written: 'all' | 'nothing'): number {
  return written === 'all' ? exitCodes.done : exitCodes.failed
}

/** Runs check on what was written, if the user wants it; the exit code. */
async function offerCheck(file: string, io: Io, call: Registration['call']): Promise<number> {
  const answer = (await io.ask?.('\nTry it now with check? [Y/n] ')) ?? 'n'
  // A signal counts as an empty answer.
  if (io.signal.aborted || !/^(?:y(?:es)?)?$/i.test(answer.trim())) return exitCodeOf('all')
  return call(['check', '--config', file])
}

/** Returns the path of what it wrote. Throws UsageError and Failure, and has written nothing then. */
async function init(options: InitOptions, io: Io): Promise<string> {
  const asks = options.yes !== true && io.ask !== undefined
  const file = resolve(options.file ?? options.config ?? 'shieldlog.yaml')
  const named = (['path', 'url'] as const).flatMap((key) =>
    options[key] === undefined ? [] : [`${key}=${options[key]}`],
  )
  const assignments = [...named, ...(options.set ?? [])].map(parseAssignment)
  const context = { options, io, asks, file, assignments }
  refuseExisting(file, 'Name another file with --file, or remove that one.')
  const key = givenKey(context)
  const needed = { 'access-key-file': key, zones: options.zones, destination: options.destination }
  const missing = Object.entries(needed).flatMap(([name, given]) =>
    given === undefined ? [`--${name}`] : [],
  )
  if (!asks && missing.length > 0)
    throw new UsageError(`this is not a terminal, so init cannot ask: give ${missing.join(', ')}`)
  const { draft, listed } = await (key === undefined
    ? settle(keyStep(context), context)
    : accessWith(key, context))
  const zones = await settle(zonesStep(listed, context), context)
  const destination = await settle(destinationStep(context), context)
  const complete = await withSink(destination, { ...draft, zones }, context)
  const files = filesOf(complete, destination.name, file)
  writeNewFiles(files)
  const short = relative('', file)
  const name = printable(short.startsWith('..') ? file : short)
  const option = name === 'shieldlog.yaml' ? '' : ` -c ${name}`
  const beside = files.length === 1 ? '' : ` and ${counted(files.length - 1, 'secret file')} next to it`
  io.stdout.write(`Wrote ${name} (mode 0600)${beside}.

Next:
  ${programName()} check${option}    try all of it
  ${programName()} run${option}      ship events
`)
  return file
}

/** The section `api` with the key that an option or the environment names. */
function givenKey({ options, io }: Context): Draft | undefined {
  if (options.accessKeyFile !== undefined) return { accessKeyFile: literal(resolve(options.accessKeyFile)) }
  if ((process.env['SHIELDLOG_API_ACCESS_KEY'] ?? '') === '') return undefined
  io.stderr.write('The access key is that of SHIELDLOG_API_ACCESS_KEY.\n')
  return { accessKey: '${SHIELDLOG_API_ACCESS_KEY}' }
}

function keyStep(context: Context): Step<Awaited<ReturnType<typeof accessWith>>> {
  refuseExisting(resolve(dirname(context.file), keyFile), 'Use it with --access-key-file, or remove it.')
  return {
    question: 'Access key of your bunny.net account (dashboard → Account → API): ',
    isHidden: true,
    accept: (key) => accessWith({ accessKey: new Secret(key, undefined, 'what you typed') }, context),
  }
}

/** Where nobody answers, the key may be as wrong as the address. */
const unreachable: readonly FailureCode[] = ['network', 'timeout', 'tls']

/**
 * All sections but zones and sinks, and the zones that the API lists for the key. A refused key is an error; another
 * failure leaves the zones unknown.
 */
async function accessWith(key: Draft, { assignments, file, io, asks }: Context) {
  const state = `sqlite:${literal(resolve(dirname(file), 'var/shieldlog.db'))}`
  // In the order of the file; null means not given yet.
  const plain = { api: key, zones: null, state, sinks: null }
  const draft = assignments.filter(isOfSection).reduce<Draft>(assignTo(fileShape), plain)
  await using work = await openWork(loadDraft(draft, { needs: 'key' })!, {}, io.signal)
  const [account] = await listZones(work.reading.clientOf)(work.config.accounts, io.signal)
  if (account !== undefined && 'zones' in account) {
    io.stderr.write('Key accepted.\n')
    return { draft, listed: account.zones }
  }
  const failure = account!.failure
  if (failure.code === 'unauthorised') throw failure
  const why = printable(messageOf(failure))
  if (!asks && unreachable.includes(failure.code)) {
    const remedy = 'nothing was written: make the API reachable and run init again, or write the file by hand'
    throw new Failure(failure.kind, failure.code, `${why}; ${remedy}`, { cause: failure })
  }
  io.stderr.write(wrapped(`${why}\nThe key and the zones are not checked: run check later.\n`, io.stderr))
  return { draft, listed: undefined }
}

/** The draft with a sink, once that loads. Throws UsageError. */
async function withSink(destination: Destination, draft: Draft, context: Context): Promise<Draft> {
  const { asks, assignments, file } = context
  const { form, fixed } = destination
  const set = assignTo(form)
  const complete = (sink: Draft) => ({ ...draft, sinks: [sink] })
  let sink = assignments.filter((one) => !isOfSection(one)).reduce<Draft>(set, fixed)
  // What an option says would be wrong again, whatever is answered.
  if (asks) loadDraft(complete(sink), { only: Object.keys(sink) })
  for (const { path, ...question } of questionsFor(destination, sink, file)) {
    const before = sink
    const accept = (text: string) => {
      if (text === '' && !asks) return before
      // What is hidden is taken as it is: a password may hold `${`, and no error may name what follows it.
      const answered =
        question.isHidden === true ? withValue(before, path, new Secret(text)) : set(before, { path, text })
      const next = text === '' ? before : answered
      loadDraft(complete(next), { only: path.slice(0, 1) })
      return next
    }
    sink = await settle({ ...question, accept }, context)
  }
  loadDraft(complete(sink))
  return complete(sink)
}
