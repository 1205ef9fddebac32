import { InvalidArgumentError, type Command } from 'commander'
import { maskUrl } from '../../config/schema/shown.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { printable } from '../../domain/text/printable.ts'
import { wholeNumber } from '../arguments.ts'
import { exitCodes, type Io } from '../io.ts'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { chooseAccount } from '../selection.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { paintFor } from '../terminal/terminal.ts'
import { readDocument, type Document } from './read-document.ts'
import { notShownLines, ruleLines, tableOf } from './rule-text.ts'
import {
  errorsInUpdate,
  rateLimitRequest,
  type RateLimitOutcome,
  type RateLimitRequest,
  updateRateLimit,
} from '../../shield/rate-limit.ts'
import { rateLimitUpdateJsonSchema } from '../../shield/rules/update-schema.ts'
import { withClient } from '../../assemble/reading.ts'

interface UpdateOptions {
  readonly file: string
  readonly account?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

export function registerRateLimit(registration: Registration): void {
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
  try {
    const outcome = await withClient(config, name, (client) =>
      updateRateLimit(client, id, document.value, io.signal),
    )
    showOutcome(outcome, json, io)
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
