import { dirname, relative, resolve } from 'node:path'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { openWork } from '../../assemble/work.ts'
import { fileShape } from '../../config/file-shape.ts'
import { loadConfig } from '../../config/load.ts'
import {
  scalarForm,
  formFor,
  forms,
  isPlainObject,
  objectForm,
  property,
  type Shape,
} from '../../config/shape.ts'
import { literal, isTemplate } from '../../config/templates.ts'
import { listZones, meantZone } from '../../discovery/list-zones.ts'
import { cancelled, Failure, type FailureCode, isFailure, messageOf } from '../../domain/failure.ts'
import { counted, printable, wrapPlain } from '../../domain/text/terminal-text.ts'
import { Secret } from '../../domain/text/secret.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example, programName } from '../../terminal/program-name.ts'
import { type Io, UsageError } from '../../terminal/io.ts'
import { collectNames, nameList, unknownName } from '../options.ts'
import { table, type Column, paintFor, wrapped } from '../../terminal/text.ts'
import { coerce, isOurName } from '../../config/environment.ts'
import { ConfigErrors, isWithin } from '../../config/errors.ts'
import type { Needs } from '../../config/needs.ts'
import { yamlText } from '../../config/print.ts'
import type { Config } from '../../config/schema.ts'
import { systemCode, systemErrorText } from '../../domain/text/system-error.ts'

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
      // In force where a signal ends it at a question: it has written nothing then.
      exit(exitCodes.failed)
      const file = await init(options, io).catch((error: unknown) => {
        if (io.signal.aborted) io.stderr.write('\nnothing was written\n')
        throw error
      })
      exit(exitCodes.done)
      if (options.yes !== true) exit(await offerCheck(file, io, call))
    })
}

/** Runs check on what was written, if the user wants it; the exit code. */
async function offerCheck(file: string, io: Io, call: Registration['call']): Promise<number> {
  const answer = (await io.ask?.('\nTry it now with check? [Y/n] ')) ?? 'n'
  // A signal counts as an empty answer.
  if (io.signal.aborted || !/^(?:y(?:es)?)?$/i.test(answer.trim())) return exitCodes.done
  return call(['check', '--config', file])
}

interface Context {
  readonly options: InitOptions
  readonly io: Io
  /** False without a terminal, and with --yes. */
  readonly asks: boolean
  /** The file to write, absolute. */
  readonly file: string
  readonly assignments: readonly Assignment[]
}

interface Step<Value> {
  /** What an option says: nothing is asked then. */
  readonly given?: string | undefined
  /** Shown before the question. */
  readonly menu?: string
  readonly question: string
  readonly isHidden?: boolean
  /** What an empty answer stands for. Absent: an answer is needed. */
  readonly usual?: string | undefined
  /** Throws UsageError, or Failure `unauthorised`, for an answer that is wrong: it is shown, and the question repeated. */
  readonly accept: (text: string) => Value | Promise<Value>
}

const mostTries = 3

async function settle<Value>(step: Step<Value>, { asks, io }: Context): Promise<Value> {
  const { given = asks ? undefined : (step.usual ?? ''), menu = '', question, isHidden, accept } = step
  if (given !== undefined) return accept(given)
  io.stderr.write(menu)
  for (let tries = 0; tries < mostTries; tries++) {
    const answer = (await io.ask!(question, isHidden)).trim()
    if (io.signal.aborted) throw cancelled(io.signal.reason)
    try {
      if (answer === '' && step.usual === undefined) throw new UsageError('an answer is needed')
      return await accept(answer === '' ? step.usual! : answer)
    } catch (error) {
      if (!(error instanceof UsageError || isFailure(error, 'unauthorised'))) throw error
      const why = error instanceof UsageError ? error.message : printable(error.message)
      io.stderr.write(wrapped(`${why}\n`, io.stderr))
    }
  }
  throw new UsageError('no valid answer; nothing was written')
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
    accept: (key) => accessWith({ accessKey: new Secret(key) }, context),
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

type ZoneToShip = number | Pick<ListedZone, 'id' | 'name'>

const mostShown = 50

function zonesStep(
  listed: readonly ListedZone[] = [],
  { options: { zones: given }, io: { stderr } }: Context,
): Step<'all' | readonly ZoneToShip[]> {
  const columns: readonly Column<ListedZone>[] = [
    ['     zone', (zone) => `  ${listed.indexOf(zone) + 1}) ${zone.id}`],
    ['name', ({ name }) => printable(name), { least: 8 }],
    ['pull zone', ({ pullZone = '' }) => String(pullZone)],
    ['plan', ({ plan = '' }) => printable(plan)],
  ]
  const lines = table(listed.slice(0, mostShown), columns, paintFor(stderr))
  const more = listed.length - mostShown
  const rest = more > 0 ? [`  and ${more} more: ${programName()} zones`] : []
  const word = given === undefined ? 'zone' : '--zones'
  /** An answer may be the number before a zone. */
  const numbered = (text: string) =>
    (given === undefined && String(listed[Number(text) - 1]?.id ?? '')) || text
  return {
    given: given?.join(','),
    menu: listed.length === 0 ? '' : `${['Shield zones of this account:', ...lines, ...rest].join('\n')}\n`,
    question: listed.length === 0 ? 'Ids of the zones to ship: ' : 'Zones to ship (all, or numbers): ',
    usual: 'all',
    accept(text) {
      const names = nameList(text.replaceAll(/\s+/g, ',')).map(numbered)
      if (names.length === 1 && names[0] === 'all') return 'all'
      if (names.length === 0) throw new UsageError(`${word} names no zone: write all, or ids such as 101,102`)
      const chosen = new Set(names.map((name) => zoneOf(name, listed, word)))
      return [...chosen].map((zone) => (typeof zone === 'number' ? zone : written(zone, listed)))
    },
  }
}

/** `word` is what errors call it: the option, or what was asked for. */
function zoneOf(text: string, listed: readonly ListedZone[], word: string): number | ListedZone {
  const found = listed.find(({ id, name }) => String(id) === text || name === text)
  if (found !== undefined) return found
  if (listed.length === 0 && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  const meant = meantZone(Number(text), listed)
  if (meant !== undefined) throw new UsageError(`${word} ${meant}`)
  const known = listed.map(({ id }) => String(id))
  throw unknownName({ option: word, name: text, what: 'is not a zone of this account', known })
}

/** With its name, where the configuration takes it: unique, and not the id of another zone. */
function written(zone: ListedZone, listed: readonly ListedZone[]): ZoneToShip {
  const { id, name } = zone
  const isTaken = listed.some((each) => each !== zone && [each.name, String(each.id)].includes(name))
  return name === '' || isTaken ? id : { id, name: literal(name) }
}

function destinationStep({ options: { destination: given } }: Context): Step<Destination> {
  const all = destinations()
  const known = all.map(({ name }) => name)
  return {
    given,
    menu: `Where should events go?\n${sideBySide(all.map(({ label }, index) => `${index + 1}) ${label}`))}\n`,
    question: '> ',
    accept(text) {
      const chosen =
        all.find(({ name }) => name === text) ?? (given === undefined ? all[Number(text) - 1] : undefined)
      if (chosen !== undefined) return chosen
      if (given === undefined) throw new UsageError(`Answer with a number from 1 to ${all.length}.`)
      throw unknownName({ option: '--destination', name: text, what: 'is unknown', known })
    },
  }
}

/** On few lines, so that on a small terminal what was shown before stays in sight. */
function sideBySide(texts: readonly string[]): string {
  const unbroken = texts.map((text) => text.replaceAll(' ', '\u00A0')).join('  ')
  return wrapPlain(unbroken, 76)
    .map((line) => `  ${line.trim().replaceAll('\u00A0', ' ')}`)
    .join('\n')
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

type Question = Omit<Step<Draft>, 'accept'> & { readonly path: readonly string[] }

/** What is asked of a sink: its name, what it requires, its place, its secrets, and for a plain receiver its credentials. */
function questionsFor({ name, form }: Destination, given: Draft, file: string): Question[] {
  const { required = [], properties = {} } = form
  const names: Readonly<Record<string, string>> = { file: 'archive', stdout: 'stdout' }
  const usuals: Readonly<Record<string, string>> = {
    // It says what the sink is for: under another name, as of another preset later, everything is shipped again.
    name: names[name] ?? 'siem',
    path: literal(resolve(dirname(file), 'var/events')),
  }
  // Without either of them nothing works, though each may be left out.
  const places: Readonly<Record<string, readonly string[]>> = { s3: ['endpoint', 'region'] }
  const secrets = Object.keys(properties).filter(
    (key) => scalarForm(properties[key]!)?.['x-marks']?.kind === 'secret',
  )
  const isOpen = (key: string) => ![key, `${key}File`].some((each) => each in given)
  const needed = ['name', ...required].filter((key) => key !== 'type' && key !== 'preset')
  const asked = [...needed, ...(places[name] ?? []), ...secrets]
  const questions = [...new Set(asked)].filter(isOpen).map((key): Question => {
    const isHidden = secrets.includes(key)
    const usual = usuals[key] ?? (needed.includes(key) ? undefined : '')
    const form = properties[key]
    const about = form && (form.description ?? scalarForm(form)?.description)
    const what = key === 'name' ? 'Name of the sink, which must stay the same' : about
    const notes = [...(isHidden ? ['hidden'] : []), ...(usual === '' ? ['empty for none'] : [])].join('; ')
    const hint = notes === '' ? (usual === undefined ? '' : ` [${usual}]`) : ` (${notes})`
    return { path: [key], question: `${[key, what ?? []].flat().join(': ')}${hint}: `, isHidden, usual }
  })
  if (!('headers' in properties) || !isOpen('headers') || secrets.length > 0) return questions
  const question = 'Authorization header, such as "Bearer …" (hidden; empty for none): '
  return [...questions, { path: ['headers', 'Authorization'], question, isHidden: true, usual: '' }]
}

/** Sections of the configuration, or settings of a sink, with each secret as a Secret. */
type Draft = Readonly<Record<string, unknown>>

/** A place that events can go to: a kind of sink, or a preset of one. */
interface Destination {
  /** As `--destination` takes it. */
  readonly name: string
  readonly label: string
  /** The settings that make a sink this one. */
  readonly fixed: Readonly<Record<string, string>>
  readonly form: Shape
}

/** What is no preset, in the order of the menu: presets come in the place of `http`, by their titles. */
const labels: Readonly<Record<string, string>> = {
  file: 'files',
  s3: 'Amazon S3',
  http: '',
  syslog: 'syslog',
  kafka: 'Apache Kafka',
  stdout: 'standard output',
}

/** Every destination of the configuration's schema: a new preset or kind of sink needs no change here. */
export function destinations(): Destination[] {
  const order = Object.keys(labels)
  return forms(property(fileShape, 'sinks')?.items ?? {})
    .map((form): Destination => {
      const [type, preset] = ['type', 'preset'].map((key) => property(form, key)?.const)
      const fixed = { type: String(type), ...(typeof preset === 'string' && { preset }) }
      const name = fixed.preset ?? fixed.type
      return { name, label: form.title ?? labels[name] ?? name, fixed, form }
    })
    .toSorted((left, right) => order.indexOf(left.fixed['type']!) - order.indexOf(right.fixed['type']!))
}

/** One setting: of the sink, or of a section of the configuration. */
interface Assignment {
  readonly path: readonly string[]
  readonly text: string
}

/** Parses `PATH=VALUE`. Throws UsageError. */
function parseAssignment(text: string): Assignment {
  const [, path = '', value = ''] = /^([\w-]+(?:\.[\w-]+)*)=(.*)$/s.exec(text) ?? []
  if (path === '') throw new UsageError('--set takes PATH=VALUE, such as index=waf or poll.everySeconds=10')
  if (/^(zones|sinks|accounts)\b/.test(path))
    throw new UsageError(`--set ${path}: use --zones, or name a setting of the sink alone, such as index=waf`)
  return { path: path.split('.'), text: value }
}

/** True where the first name is a section of the configuration, not a setting of the sink. */
function isOfSection({ path: [first = ''] }: Assignment): boolean {
  return property(fileShape, first) !== undefined
}

/** What sets a setting. What the shape does not have stays text, for the schema to refuse. Throws UsageError. */
function assignTo(shape: Shape) {
  return (draft: Draft, { path, text }: Assignment): Draft => {
    const field = path.reduce((around, key) => {
      const { additionalProperties: free, ...form } = objectForm(around) ?? formFor(around, {}) ?? {}
      return property(form, key) ?? (typeof free === 'object' ? free : {})
    }, shape)
    const kind = scalarForm(field)?.['x-marks']?.kind
    if (isTemplate(text)) return withValue(draft, path, text)
    if (kind === 'secret') return withValue(draft, path, new Secret(text))
    if (kind === 'path') return withValue(draft, path, literal(resolve(text)))
    const { value, errors } = coerce(text, field, '--set')
    if (errors.length > 0) throw new UsageError(`${path.join('.')} ${errors[0]!.problem}`)
    return withValue(draft, path, value)
  }
}

function withValue(held: Draft, [key = '', ...rest]: readonly string[], value: unknown): Draft {
  const inner = isPlainObject(held[key]) ? held[key] : {}
  return { ...held, [key]: rest.length === 0 ? value : withValue(inner, rest, value) }
}

/** Undefined where other settings of the sink are wrong than `only` these. Throws UsageError with the errors. */
function loadDraft(
  draft: Draft,
  { needs = 'zones', only }: { readonly needs?: Needs; readonly only?: readonly string[] } = {},
): Config | undefined {
  // Settings of the environment would hide what is wrong with the draft.
  const isUsed = (name: string) =>
    !isOurName(name) || JSON.stringify(draft).includes(`\${${name}`) || name.includes('_API_BASE_URL')
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => isUsed(name)))
  try {
    return loadConfig({ draft, env, needs }).config
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    const told = error.errors
      .map(({ path, ...rest }) => ({ ...rest, path: path.replace(/^sinks\[0\]\./, '') }))
      .filter(({ path }) => only === undefined || only.some((key) => isWithin(path, key)))
      .map(({ path, value, problem, remedy }) => {
        const how = only === undefined && problem === 'is missing' ? ` (--set ${path}=…)` : ''
        return printable(`${path}${value === undefined ? '' : ` ${value}`} ${problem}; ${remedy}${how}`)
      })
    if (told.length > 0) throw new UsageError(told.join('\n'))
    return undefined
  }
}

const header =
  '# Written by shieldlog init. "shieldlog config print" shows every setting, with its default.\n'

const comments: Readonly<Record<string, string>> = {
  api: 'The access key of the bunny.net account. Its file is read again when the API refuses the key.',
  zones:
    'Shield zones whose events are shipped: ids or { id, name }, or all, or { all: true, exclude: [103] }.',
  state: 'What was shipped so far. If it is lost, everything that the API still has is shipped again.',
  sinks: 'Where events go. Each sink has a name, which must stay the same.',
}

interface NewFile {
  readonly path: string
  readonly text: string
}

const keyFile = 'access-key'

/** The files that the draft becomes: one for each secret, and the configuration last. */
function filesOf(draft: Draft, destination: string, file: string): NewFile[] {
  const secrets: NewFile[] = []
  /** Names the file of each secret in its place. */
  const placed = (value: unknown, around: readonly string[]): unknown => {
    // Only the list of sinks holds secrets.
    if (Array.isArray(value)) return value.map((item) => placed(item, [destination]))
    if (!isPlainObject(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => {
      if (!(inner instanceof Secret)) return [key, placed(inner, [...around, key])] as const
      // Git ignores names that end in `.secret` in a checkout.
      const name = around[0] === 'api' ? keyFile : `${[...around, key].map(fileWord).join('-')}.secret`
      const path = resolve(file, '..', name)
      secrets.push({ path, text: `${inner.reveal()}\n` })
      // A header has no setting for a file.
      return around.at(-1) === 'headers' ? [key, `\${file:${literal(path)}}`] : [`${key}File`, literal(path)]
    })
    return Object.fromEntries(entries)
  }
  const sections = Object.entries(draft).map(([name, section]) => {
    const comment = comments[name] === undefined ? '' : `# ${comments[name]}\n`
    return `${comment}${yamlText({ [name]: placed(section, [name]) })}`
  })
  return [...secrets, { path: file, text: [header, ...sections].join('\n') }]
}

/** `X-Token` → `x-token`, `apiKey` → `api-key`. */
function fileWord(key: string): string {
  return key.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
}

/** Throws Failure where the file exists. */
function refuseExisting(path: string, remedy: string): void {
  if (!existsSync(path)) return
  const why = `${printable(path)} exists, and init overwrites nothing. ${remedy}`
  throw new Failure('stop', 'unwritable', why)
}

/** Writes all files, readable by their owner only, or none of them. Throws Failure. */
function writeNewFiles(files: readonly NewFile[]): void {
  const written: string[] = []
  for (const { path, text } of files)
    try {
      writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true })
      written.push(path)
    } catch (cause) {
      // What was there before stays; what was written in part does not.
      const isThere = systemCode(cause) === 'EEXIST'
      for (const made of isThere ? written : [...written, path]) rmSync(made, { force: true })
      const remedy = `${isThere ? 'Remove it, or name' : 'Name'} another place with --file.`
      const why = `${printable(path)} cannot be written: ${systemErrorText(cause)}. ${remedy}`
      throw new Failure('stop', 'unwritable', why, { cause })
    }
}
