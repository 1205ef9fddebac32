import { readFile } from 'node:fs/promises'
import { InvalidArgumentError, type Command } from 'commander'
import { openWork } from '../../assemble/work.ts'
import { maskUrl } from '../../config/complaints.ts'
import { parseYaml, type Parsed } from '../../config/source.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import {
  rateLimitRequest,
  rateLimitUpdateJsonSchema,
  readUpdate,
  updateRateLimit,
} from '../../shield/rate-limit.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { UsageError, type Io } from '../../terminal/io.ts'
import { chooseAccount, wholeNumber } from '../options.ts'
import { jsonResult } from '../../terminal/text.ts'
import { resultText } from '../../terminal/yaml.ts'

interface UpdateOptions {
  readonly file: string
  readonly account?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

export function register(registration: Registration): void {
  const { command: rateLimit, io, exit } = registration
  rateLimit.addHelpText('after', example('rate-limit update 7 --file rule.yaml'))
  rateLimit
    .command('update')
    .description('change a rate limit rule and print the rule that the API answers')
    .argument('<id>', 'id of the rule', ruleId)
    .requiredOption('--file <file>', 'YAML or JSON with what to change; "-" reads standard input')
    .option('--dry-run', 'print the request and send nothing')
    .option('--json', 'print the answer as JSON in place of YAML')
    .option('--account <name>', 'account that owns the rule, where there are several')
    .addHelpText('after', example('rate-limit update 42 --file rule.yaml --dry-run'))
    .action(async (id: number, options: UpdateOptions, command: Command) =>
      exit(exitCodeOf(await update(registration, id, options, command))),
    )
  rateLimit
    .command('schema')
    .description('print the JSON Schema of the file that update takes')
    .addHelpText('after', example('rate-limit schema'))
    .action(() => void io.stdout.write(jsonResult(rateLimitUpdateJsonSchema())))
}

function ruleId(text: string): number {
  const id = wholeNumber(text)
  if (id <= 2_147_483_647) return id
  throw new InvalidArgumentError('the id of a rule is at most 2147483647.')
}

/** `isDone`: false where the file is not valid, and where it is not known what became of the rule. */
function exitCodeOf(isDone: boolean): number {
  return isDone ? exitCodes.done : exitCodes.failed
}

async function update(
  { io, load }: Registration,
  id: number,
  { file, account, dryRun = false, json }: UpdateOptions,
  command: Command,
): Promise<boolean> {
  const { config } = load(command, dryRun ? 'nothing' : 'key')
  const name = file === '-' ? 'standard input' : printable(file, 1000)
  const { value, lineOf } = await readDocument(file, name, io)
  const read = readUpdate(value)
  if ('errors' in read) {
    for (const { path, field, problem } of read.errors) {
      const place = [name, lineOf(path) ?? []].flat().join(':')
      io.stderr.write(`${printable([place, field, problem].filter(Boolean).join(': '))}\n`)
    }
    io.stderr.write(`Nothing was sent. Correct ${name}; rate-limit schema describes it.\n`)
    return false
  }
  if (dryRun) {
    const { method, path, body } = rateLimitRequest(id, read.body)
    const headers = { AccessKey: '***', 'Content-Type': 'application/json' }
    io.stdout.write(resultText({ method, url: `${maskUrl(config.api.baseUrl)}${path}`, headers, body }, json))
    io.stderr.write('Nothing was sent.\n')
    return true
  }
  await using work = await openWork(config, {}, io.signal)
  const client = work.reading.clientOf(chooseAccount(config, account).name)
  try {
    const { outcome, answer, notShown } = await updateRateLimit(client, id, read.body, io.signal)
    io.stdout.write(resultText(answer, json))
    if (outcome === 'accepted') io.stderr.write(acceptedNote)
    else if (notShown.length > 0)
      io.stderr.write(`The answer does not show what was asked for:\n${resultText(notShown)}${dashboard}`)
    return true
  } catch (error) {
    // For other commands a stop by a signal is not an error; here it is unknown whether the rule changed.
    if (!io.signal.aborted || !isFailure(error)) throw error
    io.stderr.write(`${printable(messageOf(error))}\n`)
    return false
  }
}

/** Parses `--file`, a YAML or JSON document; `-` is standard input. Throws UsageError. */
async function readDocument(file: string, name: string, { readInput, signal }: Io): Promise<Parsed> {
  const reading = file === '-' && readInput !== undefined ? readInput() : readFile(file, 'utf8')
  const text = await reading.catch((error: unknown) => {
    if (signal.aborted) throw error
    throw new UsageError(`--file ${name} cannot be read: ${printable(systemErrorText(error))}`)
  })
  const parsed = parseYaml(text, name)
  const [first] = parsed.errors
  if (first === undefined) return parsed
  throw new UsageError(`--file ${printable(first.where ?? name)} ${first.problem}; ${first.remedy}`)
}

const dashboard = 'Look at the rule in the dashboard of bunny.net (Shield, rate limiting).\n'
const acceptedNote = `The API accepted the update without returning the rule, so what became of it is not known. ${dashboard}`
