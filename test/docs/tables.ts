import { parse } from 'yaml'
import { exitCodes } from '../../src/tasks/command.ts'
import { presets } from '../../src/sinks/http/presets/registry.ts'
import { metricDefinitions, metricPrefix } from '../../src/telemetry/metrics/metrics.ts'
import { internalEvents } from '../../src/telemetry/internal-events.ts'
import { readCosts } from '../bench/cost/costs.ts'
import { answerRows, type AnswerRow, outcomeFor, outcomes } from '../contract/answers.ts'
import { figuresFile, readReport, withUnit, type Figure } from '../bench/figures.ts'
import { readPage } from './pages.ts'

export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rule: readonly string[] = head.map(() => '---'),
): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
  const lines = [head, rule, ...rows.map((row) => row.map(cell))]
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
}

export const code = (text: string) => `\`${text}\``
const codes = (texts: readonly string[]) => texts.map(code).join(', ')

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly description: string; readonly runbook_url: string }
}

/** The alerts of `config/prometheus/alerts.yml`. */
export function alertsTable(): string {
  const { groups } = parse(readPage('config/prometheus/alerts.yml')) as { groups: { rules: Alert[] }[] }
  const rows = groups
    .flatMap(({ rules }) => rules)
    .map(({ alert, labels, expr, for: during, annotations }) => [
      `[${code(alert)}](${annotations.runbook_url.replace('docs/', '')})`,
      labels.severity,
      `${code(expr.trim())}${during === undefined ? '' : ` for ${during}`}`,
      annotations.description.trim(),
    ])
  return markdownTable(['Alert', 'Severity', 'Condition', 'What it means'], rows)
}

/** What each preset makes of each kind of answer; the suite of presets tests every row with every preset. */
export function answersTable(): string {
  const rows = answerRows.map((row) => [row.answer, ...answerCells(row)])
  const words = Object.entries(outcomes).map(([name, meaning]) => `- **${name}**: ${meaning}.`)
  return [...words, '', markdownTable(['Answer', 'For these presets', 'For the others'], rows)].join('\n')
}

function answerCells(row: AnswerRow): [string, string] {
  const { outcome, only } = row
  if (only !== undefined) return [`${codes(only)}: **${outcome}**`, '–']
  const names = presets.map(({ name }) => name)
  const byOutcome = Map.groupBy(names, (name) => outcomeFor(row, name)!)
  if (byOutcome.size === 1) return [`all: **${outcome}**`, '–']
  const named = [...byOutcome].filter(([each]) => each !== outcome)
  return [named.map(([each, some]) => `${codes(some)}: **${each}**`).join('; '), `**${outcome}**`]
}

/** The presets, each with a link to its page. */
export function presetsTable(): string {
  const rows = presets.map(({ name, description, schema }) => {
    const { batch, format } = schema.shape
    const { maxEvents, maxBytes, maxAgeHours } = batch.parse({})
    return [
      `[${code(name)}](${name === 'json' || name === 'ndjson' ? 'http' : name}.md)`,
      description,
      codes(format.unwrap().options),
      `${maxEvents.toLocaleString('en')} events, ${maxBytes / 1_000_000} MB`,
      maxAgeHours === undefined ? '' : `${maxAgeHours} h`,
    ]
  })
  const head = ['Preset', 'Ships', 'Formats, the first is the default', 'A body has up to', 'Oldest event']
  return markdownTable(head, rows)
}

/** All metrics of this program's own; a label with its closed set, where it has one. */
export function metricsTable(): string {
  const labelText = ([name, set]: [string, string | readonly string[]]) =>
    typeof set === 'string' ? code(name) : `${code(name)} (${set.join(', ')})`
  const rows = metricDefinitions.map(({ name, type, labels, help }) => [
    code(`${metricPrefix}${name}`),
    type,
    Object.entries(labels).map(labelText).join('; '),
    help,
  ])
  return markdownTable(['Metric', 'Type', 'Labels', 'Meaning'], rows)
}

/** All events of the log. */
export function eventsTable(): string {
  const rows = Object.entries(internalEvents).map(([name, { level, meaning }]) => [
    code(name),
    level,
    meaning,
  ])
  const own = 'A bug in the log or the metrics themselves; nothing else is affected.'
  return markdownTable(['Event', 'Level', 'Meaning'], [...rows, [code('TelemetryFailed'), 'error', own]])
}

/** What each of them means to whoever started the command. */
const exitCodeMeanings = {
  done: 'done; also after SIGTERM or SIGINT, but not for an `audit` that was stopped: see 3',
  failed:
    'failed, or done but not whole: `run --once` left a stream unread or an event undelivered, `audit` found differences, `dead-letters replay` left some, `status` shows a route that fails or that nothing ships',
  usage: 'wrong usage: an unknown command, option or value',
  blind: '`audit` could not compare something: the API or the state did not answer, or it was stopped',
  absent:
    'a file that a setting names (a secret, a certificate) is not there yet, or is empty: worth another try; `run` waits for it',
  configuration: 'the configuration has errors; all of them are named',
} as const satisfies Record<keyof typeof exitCodes, string>

export function exitCodesTable(): string {
  const names = Object.keys(exitCodes) as (keyof typeof exitCodes)[]
  const rows = names.map((name) => [String(exitCodes[name]), exitCodeMeanings[name]])
  const second = ['130, 143', 'a second SIGINT or SIGTERM ended the process at once']
  return markdownTable(['Code', 'Means'], [...rows, second])
}

/** What an event costs in bytes: a table of the formats, one of the presets, and a sentence for the page of each preset. */
export function costBlocks(): Record<string, string> {
  const costs = readCosts()
  // Decimal, as destinations bill them.
  const gigabytes = (bytesAnEvent: number) => `${(bytesAnEvent / 1000).toFixed(2)} GB`
  const formatRows = Object.entries(costs.formats).map(([name, { plain, compressed }]) => [
    code(name),
    `${plain}`,
    gigabytes(plain),
    `${compressed}`,
  ])
  const ofPresets = presets.map(({ name, schema }) => {
    const { plain, compressed } = costs.presets[name]!
    const format = schema.shape.format.parse(undefined)
    const compression = schema.shape.compression.parse(undefined)
    const over = `${compressed} over the network (\`compression: ${compression}\`)`
    return {
      row: [code(name), code(format), `${plain}`, gigabytes(plain), `${compressed} (${compression})`],
      block: `cost-${name}`,
      sentence: `With \`format: ${format}\`, the default, an event takes ${plain} bytes, and ${over}: a million events are ${gigabytes(plain)}. [How this was measured, and the other formats](../reference/cost.md).`,
    }
  })
  const [ofFormat, ofPreset] = ['Bytes a line', 'Bytes an event'].map((bytes) => [bytes, 'A million events'])
  return {
    'cost-formats': markdownTable(['Format', ...ofFormat!, 'Bytes with gzip'], formatRows, [
      '---',
      '--:',
      '--:',
      '--:',
    ]),
    'cost-presets': markdownTable(
      ['Preset', 'Format', ...ofPreset!, 'Bytes over the network'],
      ofPresets.map(({ row }) => row),
      ['---', '---', '--:', '--:', '--:'],
    ),
    ...Object.fromEntries(ofPresets.map(({ block, sentence }) => [block, sentence])),
  }
}

/** Rows of the page about operation: as the bench names them, and in words for users. */
const ofOneProcess: readonly (readonly [name: string, words: string])[] = [
  ['file: events a second', 'Events a second into files'],
  ['http: events a second', 'Events a second to an HTTP destination'],
  ['s3: events a second', 'Events a second into a bucket'],
  ['RSS of an idle run, one zone', 'Memory of a process with one zone and no new events'],
  ['peak RSS, 100,000 events of a stream', 'Most memory while 100,000 events of one day are shipped'],
  ['peak RSS, 1,000,000 events of a stream', 'Most memory while 1,000,000 events of one day are shipped'],
  ['peak RSS, 500 zones of 3 days', 'Most memory at the first start with 500 zones of 3 days'],
  ['peak RSS, pages of 8 MB on 24 streams', 'Most memory with pages of 8 MB, 24 days read at once'],
  ['SQLite after the day was shipped', 'State in SQLite'],
]

/** What `npm run bench -- --keep` has measured; of fleets a column for each. */
export function figureBlocks(): Record<string, string> {
  const { machine, figures } = readReport(figuresFile)
  const { node, cores, cpu, memoryBytes } = machine
  return {
    figures: markdownTable(
      ['What', 'Measured'],
      ofOneProcess.flatMap(([name, words]) => {
        const found = figures.find((figure) => figure.name === name)
        return found === undefined ? [] : [[words, textOf(found)]]
      }),
    ),
    'figures-machine': `Measured with Node ${node} on ${cores} cores of an ${cpu} with ${Math.round(memoryBytes / 2 ** 30)} GiB of memory.`,
    'figures-rest': columnsOf(figures, /^\d+ zones, \d+ sinks$/),
    'figures-fleet': columnsOf(figures, /^\d+ zones, (?:Redis|SQLite)/),
  }
}

/** A figure is named by its column and its row: `500 zones, SQLite: CPU a request`. */
function columnsOf(figures: readonly Figure[], isColumn: RegExp): string {
  const found = figures.flatMap((figure) => {
    const [column = '', row = ''] = figure.name.split(': ')
    return isColumn.test(column) ? [{ column, row, text: textOf(figure) }] : []
  })
  const columns = [...new Set(found.map(({ column }) => column))]
  const rows = [...Map.groupBy(found, ({ row }) => row)].map(([row, cells]) => [
    row,
    ...columns.map((column) => cells.find((cell) => cell.column === column)?.text ?? ''),
  ])
  return markdownTable(['', ...columns], rows)
}

function textOf(figure: Figure): string {
  const detail = figure.detail === undefined || figure.detail.length > 60 ? '' : ` (${figure.detail})`
  return withUnit(figure) + detail
}
