import { InvalidArgumentError, type Command } from 'commander'
import { maskUrl } from '../config/effective.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import { printable, wrapPlain, pad, widestOf } from '../domain/text/terminal-text.ts'
import { wholeNumber, chooseAccount } from './options.ts'
import { exitCodes, type Io, UsageError } from './command.ts'
import type { Registration } from './command.ts'
import { example } from './program-name.ts'
import { jsonResult, paintFor } from './terminal/text.ts'
import {
  errorsInUpdate,
  rateLimitRequest,
  type RateLimitOutcome,
  type RateLimitRequest,
  updateRateLimit,
} from '../shield/rate-limit.ts'
import { rateLimitUpdateJsonSchema } from '../shield/rules/update.ts'
import { openWork } from '../assemble/work.ts'
import { nameOf } from '../shield/rules/enumerations.ts'
import type { NotShown, RateLimitRule } from '../shield/rules/rule.ts'
import { readFile, stat } from 'node:fs/promises'
import { parseYaml } from '../config/source.ts'
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
    const { width } = paintFor(io.stdout)
    const isPiped = io.stdout.isTTY !== true
    const lines = isAccepted
      ? tableOf(acceptedRows(result.answer), width, isPiped)
      : ruleLines(result.rule, width, isPiped)
    io.stdout.write(`${lines.join('\n')}\n`)
  }
  const notes = isAccepted ? [acceptedNote] : notShownLines(result.notShown)
  for (const note of notes) io.stderr.write(`${note}\n`)
}

const acceptedNote =
  'The API accepted the update without returning the rule, so what became of it is not known. ' +
  'Look at the rule in the dashboard of bunny.net (Shield, rate limiting).'

function acceptedRows(answer: object): (readonly [string, string])[] {
  const rows = Object.entries(answer).map(([name, value]) => [name, JSON.stringify(value)] as const)
  return [['answer', 'accepted'], ...rows]
}

function ruleId(text: string): number {
  const id = wholeNumber(text)
  if (id <= 2_147_483_647) return id
  throw new InvalidArgumentError('the id of a rule is at most 2147483647.')
}

type Row = readonly [label: string, text: string]
type Configuration = NonNullable<RateLimitRule['ruleConfiguration']>
type Condition = Pick<
  Configuration,
  'variableTypes' | 'operatorType' | 'value' | 'isNegated' | 'isRegexVariable'
>
type Member = string | number | null | undefined

const narrowest = 30

/** The rule as a table: a row a line, and on a terminal as many lines as the text of a row needs. */
export function ruleLines(rule: RateLimitRule, width: number, isPiped: boolean): string[] {
  return tableOf(rowsOf(rule), width, isPiped)
}

/** Labels and texts in two columns. Escapes the texts; a text that does not fit continues on the next line. */
function tableOf(rows: readonly Row[], width: number, isPiped: boolean): string[] {
  const labelWidth = widestOf(rows.map(([label]) => printable(label))) + 2
  return rows.flatMap(([label, text]) => {
    const shown = printable(text, isPiped ? Infinity : undefined)
    const room = Math.max(narrowest, width - 1 - labelWidth)
    const parts = isPiped ? [shown] : wrapPlain(shown, room)
    return parts.map((part, index) =>
      `${pad(index === 0 ? printable(label) : '', labelWidth)}${part}`.trimEnd(),
    )
  })
}

function rowsOf(rule: RateLimitRule): Row[] {
  // `ruleJson` repeats the configuration as text: only --json prints it.
  const { id, shieldZoneId, userId, ruleName, ruleDescription, ruleJson: _, ...more } = rule
  const { ruleConfiguration, errorResponse, ...others } = more
  return [
    ['rule', String(id)],
    ['zone', String(shieldZoneId ?? '-')],
    ['name', ruleName ?? '-'],
    ['description', ruleDescription ?? '-'],
    ...(ruleConfiguration ? configurationRows(ruleConfiguration) : [['condition', '-'] as const]),
    ...optional('user', userId),
    ...answerRow(errorResponse),
    ...otherRows(others),
  ]
}

function configurationRows(configuration: Configuration): Row[] {
  const { actionType, severityType, requestCount, counterKeyType, timeframe, blockTime, ...more } =
    configuration
  const { transformationTypes, chainedRuleConditions, ...rest } = more
  const {
    variableTypes: _v,
    operatorType: _o,
    value: _t,
    isNegated: _n,
    isRegexVariable: _r,
    ...others
  } = rest
  const steps = (transformationTypes ?? []).map((step) => memberText('TransformationType', step))
  return [
    ['condition', conditionText(configuration)],
    ...(chainedRuleConditions ?? []).map((each): Row => ['and', conditionText(each)]),
    ['transformations', steps.length === 0 ? '-' : steps.join(', ')],
    [
      'limit',
      `${requestCount ?? '-'} requests in ${secondsText('Timeframe', timeframe)}, ` +
        `counted by ${memberText('CounterKeyType', counterKeyType)}`,
    ],
    ['action', memberText('ActionType', actionType)],
    ['block time', secondsText('BlockTime', blockTime)],
    ['severity', memberText('SeverityType', severityType)],
    ...otherRows(others),
  ]
}

/** `not REQUEST_HEADERS: User-Agent RX "curl.*"`. */
function conditionText(condition: Condition): string {
  const { variableTypes, operatorType, value, isNegated, isRegexVariable } = condition
  const looked = Object.entries(variableTypes ?? {}).map(([name, part]) =>
    part === '' ? name : `${name}: ${typeof part === 'string' ? part : jsonOf(part)}`,
  )
  const what = `${looked.join(', ') || '-'}${isRegexVariable === true ? ' (as regular expressions)' : ''}`
  const compared = value === null || value === undefined ? '' : ` ${JSON.stringify(value)}`
  return `${isNegated === true ? 'not ' : ''}${what} ${memberText('OperatorType', operatorType)}${compared}`
}

function memberText(enumeration: Parameters<typeof nameOf>[0], member: Member): string {
  if (member === null || member === undefined) return '-'
  if (typeof member === 'string') return member
  return nameOf(enumeration, member) ?? `${member} (not a known ${enumeration})`
}

function secondsText(enumeration: 'Timeframe' | 'BlockTime', member: Member): string {
  if (typeof member !== 'number') return member ?? '-'
  const name = nameOf(enumeration, member)
  return `${member} s${name === undefined ? '' : ` (${name})`}`
}

/** What the API says about its own answer. */
function answerRow(response: RateLimitRule['errorResponse']): Row[] {
  const { statusCode, message = '' } = response ?? {}
  if (message === null || message === '') return []
  return [['answer', `${statusCode ?? '-'}: ${message}`]]
}

function optional(label: string, text: string | null | undefined): Row[] {
  return text === null || text === undefined || text === '' ? [] : [[label, text]]
}

/** Fields that are not known yet. */
function otherRows(fields: Readonly<Record<string, unknown>>): Row[] {
  return Object.entries(fields).map(([name, value]) => [name, jsonOf(value)])
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
