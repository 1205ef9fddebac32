import { InvalidArgumentError, type Command } from 'commander'
import { maskUrl } from '../config/shown.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import { printable, wrapPlain, pad, widestOf } from '../domain/text/terminal-text.ts'
import { wholeNumber, chooseAccount } from './options.ts'
import { exitCodes, type Io, UsageError } from './command.ts'
import type { Registration } from './command.ts'
import { example } from './program-name.ts'
import { jsonResult, paintFor, type Paint } from './terminal/text.ts'
import {
  errorsInUpdate,
  rateLimitRequest,
  type RateLimitOutcome,
  type RateLimitRequest,
  updateRateLimit,
} from '../shield/rate-limit.ts'
import type { NotShown } from '../shield/rate-limit.ts'
import { rateLimitUpdateJsonSchema, nameOf, type Enumeration } from '../shield/rate-limit-update.ts'
import { openWork } from '../assemble/work.ts'
import { readFile, stat } from 'node:fs/promises'
import { parseYaml } from '../config/source.ts'
import { isObject } from '../domain/text/json.ts'
import { systemErrorText } from '../domain/text/system-error.ts'

interface UpdateOptions {
  readonly file: string
  readonly account?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

export function register(registration: Registration): void {
  const { command: rateLimit, io } = registration
  rateLimit.addHelpText('after', example('rate-limit update 7 --file rule.yaml'))
  rateLimit
    .command('update')
    .description('change a rate limit rule and print the rule that the API answers')
    .argument('<id>', 'id of the rule', ruleId)
    .requiredOption('--file <file>', 'YAML or JSON with what to change; "-" reads standard input')
    .option('--dry-run', 'print the request and send nothing')
    .option('--json', 'print the answer as JSON')
    .option('--account <name>', 'account that owns the rule, where there are several')
    .addHelpText('after', example('rate-limit update 42 --file rule.yaml --dry-run'))
    .action((id: number, options: UpdateOptions, command: Command) =>
      update(registration, id, options, command),
    )
  rateLimit
    .command('schema')
    .description('print the JSON Schema of the file that update takes')
    .addHelpText('after', example('rate-limit schema'))
    .action(() => void io.stdout.write(jsonResult(rateLimitUpdateJsonSchema())))
}

async function update(
  { io, exit, load }: Registration,
  id: number,
  { file, account, dryRun = false, json = false }: UpdateOptions,
  command: Command,
): Promise<void> {
  const { config } = load(command, dryRun ? 'nothing' : 'key')
  const document = await readDocument(file, io)
  const errors = errorLines(document)
  if (errors.length > 0) {
    for (const line of errors) io.stderr.write(`${line}\n`)
    exit(exitCodes.failed)
    return
  }
  if (dryRun) {
    showRequest(rateLimitRequest(id, document.value), config.api.baseUrl, json, io)
    return
  }
  const { name } = chooseAccount(config, account)
  await using work = await openWork(config, {}, io.signal)
  const client = work.reading.clientOf(name)
  try {
    showOutcome(await updateRateLimit(client, id, document.value, io.signal), json, io)
  } catch (error) {
    // For other commands a stop by a signal is not an error; here it is unknown whether the rule changed.
    if (!io.signal.aborted || !isFailure(error)) throw error
    io.stderr.write(`${printable(messageOf(error))}\n`)
    exit(exitCodes.failed)
  }
}

/** In the order of the file. */
function errorLines({ value, name, lineOf }: Document): string[] {
  const errors = errorsInUpdate(value).map((error) => ({ ...error, line: lineOf(error.field) }))
  if (errors.length === 0) return []
  const lines = errors
    .toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0))
    .map(({ field, problem, line }) =>
      printable(
        [line === undefined ? name : `${name}:${line}`, ...(field === '' ? [] : [field]), problem].join(': '),
      ),
    )
  return [...lines, `Nothing was sent. Correct ${name}; rate-limit schema describes it.`]
}

function showRequest({ method, path, body }: RateLimitRequest, baseUrl: string, json: boolean, io: Io): void {
  const url = `${maskUrl(baseUrl)}${path}`
  const headers = { AccessKey: '***', 'Content-Type': 'application/json' }
  if (json) io.stdout.write(jsonResult({ method, url, headers, body }))
  else {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
    io.stdout.write(`${method} ${printable(url)}\n${lines.join('')}\n${jsonResult(body)}`)
  }
  io.stderr.write('Nothing was sent.\n')
}

function showOutcome(result: RateLimitOutcome, json: boolean, io: Io): void {
  const isAccepted = result.outcome === 'accepted'
  const answer = isAccepted ? result.answer : result.rule
  if (json) io.stdout.write(jsonResult(answer))
  else {
    const shown = isAccepted ? { answer: 'accepted', ...result.answer } : result.rule
    io.stdout.write(`${ruleLines(shown, paintFor(io.stdout)).join('\n')}\n`)
  }
  const notes = isAccepted ? [acceptedNote] : notShownLines(result.notShown)
  for (const note of notes) io.stderr.write(`${note}\n`)
}

const acceptedNote =
  'The API accepted the update without returning the rule, so what became of it is not known. ' +
  'Look at the rule in the dashboard of bunny.net (Shield, rate limiting).'

function ruleId(text: string): number {
  const id = wholeNumber(text)
  if (id <= 2_147_483_647) return id
  throw new InvalidArgumentError('the id of a rule is at most 2147483647.')
}

const narrowest = 30

/**
 * What the API answered, a field a row, named as in the file (those of ruleConfiguration without that word); what has no
 * value is left out. On a terminal a text that does not fit continues on the next line.
 */
export function ruleLines(answer: object, { width, isPiped }: Paint): string[] {
  const rows = fieldsOf(answer).map(([name, text]) => [printable(name), printable(text, 10_000)] as const)
  const labelWidth = widestOf(rows.map(([name]) => name)) + 2
  const room = isPiped ? Infinity : Math.max(narrowest, width - 1 - labelWidth)
  return rows.flatMap(([name, text]) =>
    wrapPlain(text, room).map((part, index) => `${pad(index === 0 ? name : '', labelWidth)}${part}`),
  )
}

/** The fields of an object and of the objects in it. `ruleJson` repeats the configuration as text: only --json prints it. */
function fieldsOf(value: object, path = ''): (readonly [name: string, text: string])[] {
  return Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    if (member === null || member === undefined || key === 'ruleJson') return []
    const name = path === '' ? key : `${path}.${key}`
    if (isObject(member)) return fieldsOf(member, key === 'ruleConfiguration' ? '' : name)
    if (Array.isArray(member) && member.every(isObject))
      return member.flatMap((each, index) => fieldsOf(each, `${name}[${index}]`))
    return [[name, memberText(key, member)] as const]
  })
}

/** Fields whose numbers have names. */
const fields: Readonly<Record<string, Enumeration | undefined>> = {
  actionType: 'ActionType',
  operatorType: 'OperatorType',
  severityType: 'SeverityType',
  transformationTypes: 'TransformationType',
  counterKeyType: 'CounterKeyType',
  timeframe: 'Timeframe',
  blockTime: 'BlockTime',
}

/** `10 PerTenSeconds`. */
function memberText(key: string, member: unknown): string {
  const enumeration = fields[key]
  if (Array.isArray(member)) return member.map((each: unknown) => memberText(key, each)).join(', ')
  if (typeof member === 'number' && enumeration !== undefined)
    return `${member} ${nameOf(enumeration, member) ?? `(not a known ${enumeration})`}`
  return typeof member === 'string' && member !== '' ? member : jsonOf(member)
}

/** What the file asked for and the answer does not show; empty where there is nothing. */
export function notShownLines(differences: readonly NotShown[]): string[] {
  if (differences.length === 0) return []
  return [
    'The answer does not show what was asked for:',
    ...differences.map(({ field, asked, ...rest }) => {
      const answered = 'answered' in rest ? `answered ${jsonOf(rest.answered)}` : 'not in the answer'
      return `  ${printable(field)}: asked ${printable(jsonOf(asked), 200)}, ${printable(answered, 200)}`
    }),
    'Look at the rule in the dashboard of bunny.net (Shield, rate limiting).',
  ]
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}

/** A YAML or JSON document that the user named. */
interface Document {
  readonly value: unknown
  /** For messages: the file's name as given, or `standard input`. */
  readonly name: string
  /** The line of a place such as `ruleConfiguration.value`, from 1; undefined where the document has no such place. */
  lineOf(place: string): number | undefined
}

const mostBytes = 1_048_576

/** Reads `--file`; `-` is standard input. Throws UsageError for what cannot be read or parsed. */
async function readDocument(file: string, io: Io): Promise<Document> {
  const name = file === '-' ? 'standard input' : printable(file, 1000)
  const text = await readText(file, io).catch((error: unknown) => {
    if (io.signal.aborted) throw error
    throw new UsageError(`--file ${name} cannot be read: ${printable(systemErrorText(error))}`)
  })
  const { value, lines, errors } = parseYaml(text, name)
  const [first] = errors
  if (first !== undefined)
    throw new UsageError(`--file ${printable(first.where ?? name)} ${first.problem}; ${first.remedy}`)
  return {
    value,
    name,
    lineOf: (place) => lines.get(place),
  }
}

async function readText(file: string, { readInput }: Io): Promise<string> {
  if (file === '-' && readInput !== undefined) return readInput()
  const { size } = await stat(file)
  if (size > mostBytes) throw new Error('it is larger than 1 MiB')
  return readFile(file, 'utf8')
}
