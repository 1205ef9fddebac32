import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { audit as auditDays } from '../../assemble/audit.ts'
import { stateName } from '../../assemble/state.ts'
import { withKnownZones } from '../../assemble/work.ts'
import { systemClock } from '../../clock.ts'
import { effectiveYaml } from '../../config/print.ts'
import type { Loaded } from '../../config/load.ts'
import type { Day } from '../../domain/day.ts'
import { printable, wrap, wrapPlain } from '../../domain/text/terminal-text.ts'
import { collectDays, collectNames, chooseSinks, chooseZones } from '../options.ts'
import {
  exitCodes,
  resultOutput,
  UsageError,
  type Io,
  type Output,
  type Registration,
  commandLine,
  example,
} from '../command.ts'
import { createLiveBlock } from '../terminal/live.ts'
import { countText, countOf, sumOf } from '../../domain/text/counts.ts'
import {
  aboutText,
  paintFor,
  wrapped,
  jsonResult,
  type Paint,
  table,
  tableWidth,
  type Column,
} from '../terminal/text.ts'
import type { AuditProgress, Finding } from '../../maintenance/audit/audit.ts'
import { iso } from '../../domain/text/time.ts'
import { version } from '../../assemble/version.ts'
import {
  failureLines,
  reportOf,
  byDay,
  filesOf,
  isCompared,
  paragraphsOf,
  streamsOf,
  summaryOf,
  verdictOf,
} from './findings.ts'
import { openReport, readKey, readNamed, signatureProblem, signed, writeReport } from './report.ts'
import { removedText } from '../../domain/retention.ts'
import { zoneLabel } from '../../domain/status/problems.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Audit } from '../../status/day.ts'

interface AuditOptions {
  readonly zone?: string[]
  readonly day?: Day[]
  readonly sink?: string[]
  readonly repair?: boolean
  readonly deep?: boolean
  readonly report?: string
  readonly sign?: string
  readonly json?: boolean
}

const exitCodeText = `
Exit code 0: no difference; 1: differences; 3: something could not be compared,
or the audit was stopped.
`

export function register({ command: audit, io, exit, load }: Registration): void {
  audit
    .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
    .option(
      '--day <day>',
      'only this day: YYYY-MM-DD in UTC, today or yesterday; repeatable, takes comma lists',
      collectDays,
    )
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--deep', 'read the files and objects of sinks (file, s3) too, and compare them line by line')
    .option('--repair', 'ship what is missing, with --deep also what files have lost; then compare again')
    .option('--report <file>', 'write a report too: one HTML file with each day, for an auditor')
    .option('--sign <pem>', 'sign the report with this Ed25519 key, for audit verify')
    .option('--json', 'as JSON')
    .addHelpText('after', exitCodeText)
    .addHelpText('after', example('audit --zone shop --day yesterday --deep --report audit.html'))
    .action(async (options: AuditOptions, command: Command) => {
      // A stop proves nothing: in `audit && …` it must not count as "no difference".
      exit(exitCodes.blind)
      const loaded = load(command, options.repair === true ? 'delivery' : 'comparison')
      const named = command.optsWithGlobals<{ config?: string }>().config
      exit(await runAudit(loaded, named, options, io))
    })
  audit
    .command('verify')
    .description('say whether a report is as it was when it was signed')
    .argument('<file>', 'the report; - reads standard input')
    .requiredOption('--key <pem>', 'public or private key of the signer')
    .addHelpText('after', example('audit verify audit.html --key audit-key.pem'))
    .action(async (file: string, { key }: { readonly key: string }) => {
      const isInput = file === '-' && io.readInput !== undefined
      const remedy = 'name a report of audit --report'
      const report = isInput ? Buffer.from(await io.readInput()) : readNamed(file, remedy)
      const problem = signatureProblem(report, readKey(key, 'public'))
      io.stdout.write(
        problem === undefined
          ? `${printable(file)} is as it was when it was signed with this key\n`
          : `${printable(file)} is not proven: ${problem}\n`,
      )
      if (problem !== undefined) exit(exitCodes.failed)
    })
}

/** `named`: the configuration file as the user named it. */
async function runAudit(
  loaded: Loaded,
  named: string | undefined,
  options: AuditOptions,
  io: Io,
): Promise<number> {
  const { repair = false, deep = false, json = false, day: days, report: reportFile } = options
  const config = await withKnownZones(loaded.config, io.signal)
  const zones = chooseZones(config, options.zone)
  const sinks = chooseSinks(config, options.sink)
  if (options.sign !== undefined && reportFile === undefined)
    throw new UsageError('--sign signs a report; name its file with --report')
  const key = options.sign === undefined ? undefined : readKey(options.sign, 'private')
  const fill = reportFile === undefined ? undefined : openReport(reportFile)
  const beganAtMs = systemClock.now()
  const progress = createProgress(io.stderr)
  const request = { zones, sinks, repair, deep, report: fill !== undefined, days, ...progress }
  const audited = await auditDays(config, request, io.signal).finally(() => progress.end())
  const code = exitCodeOf(audited, days !== undefined)
  const isAnyThere = audited.findings.length > 0
  const output = resultOutput(io, repair ? sinks : [])
  const again = (zone: number, day: string, sink: string) => {
    const only = config.sinks.length === 1 ? '' : ` --sink ${sink}`
    return `${commandLine('audit', named)} --zone ${zone} --day ${day}${only}`
  }
  if (json) output.write(auditJson(audited, code === exitCodes.done))
  else if (isAnyThere) {
    const told = { zones, sinks: sinks.map(({ name }) => name), again }
    output.write(auditText(audited, told, paintFor(output)))
  }
  for (const line of failureLines(audited)) io.stderr.write(wrapped(`${line}\n`, io.stderr))
  if (fill === undefined) return code
  if (!isAnyThere) {
    fill(undefined)
    io.stderr.write('no report was written, since nothing could be compared\n')
    return code
  }
  const about = {
    api: config.api.baseUrl,
    host: hostname(),
    version,
    configuration: loaded.file,
    settingsHash: createHash('sha256').update(effectiveYaml(loaded)).digest('hex'),
    state: `${stateName(config)} (${audited.storeId ?? 'no store'})`,
    beganAt: iso(beganAtMs),
    endedAt: iso(systemClock.now()),
    isDeep: deep,
  }
  const html = writeReport(reportOf(audited, about))
  fill(key === undefined ? html : signed(html, key))
  io.stderr.write(`report: ${printable(reportFile!)}\n`)
  return code === exitCodes.done && audited.detailsFailed !== undefined ? exitCodes.failed : code
}

/** A line that is redrawn on a terminal; elsewhere only slow steps are reported. */
function createProgress(output: Output) {
  const block = output.isTTY === true ? createLiveBlock(output) : undefined
  return {
    tell: (text: string) => void (block ?? output).write(wrapped(`${text}\n`, output)),
    progressed({ done, all, listed }: AuditProgress): void {
      const days = `${countText(done)} of ${countText(all)} zone days`
      block?.draw([`comparing: ${days}, ${aboutText(listed)} events listed`])
    },
    end: () => block?.draw([]),
  }
}

export function exitCodeOf({ findings, blind }: Audit, areDaysNamed: boolean): number {
  // How long the API keeps a day is an estimate: an older day that --day does not name may be gone.
  const isBlind = (finding: Finding) =>
    !isCompared(finding) && (areDaysNamed || finding.failure?.code !== 'window_closed')
  if (blind !== undefined || !findings.some(isCompared) || findings.some(isBlind)) return exitCodes.blind
  const differs = ({ stream, file, failure, gap, unrepaired }: Finding) =>
    stream?.isEqual === false ||
    file?.isEqual === false ||
    unrepaired !== undefined ||
    (failure !== undefined && gap !== undefined)
  return findings.some(differs) ? exitCodes.failed : exitCodes.done
}

/** One document. `isEqual` is true where all was compared and nothing differs. */
export function auditJson({ days, findings, blind }: Audit, isEqual: boolean): string {
  const [streams, files] = [streamsOf(findings), filesOf(findings)]
  const notCompared = byDay(findings)
    .filter((each) => !isCompared(each))
    .map(({ zone, name, day, failure }) => {
      return { zone, name, day, why: failure?.message ?? 'stopped before it was compared' }
    })
  const unrepaired = findings.flatMap(({ zone, day, sink, unrepaired: why }) =>
    why === undefined ? [] : { zone, day, sink, why },
  )
  const removed = findings.flatMap(({ zone, day, sink, removed: mark }) =>
    mark === undefined ? [] : { zone, day, sink, at: iso(mark.atMs), why: removedText(mark) },
  )
  return jsonResult({
    days,
    isEqual,
    missing: sumOf(streams, 'missing'),
    extra: sumOf(streams, 'extra'),
    notYetDue: sumOf(streams, 'notYetDue'),
    streams,
    ...(files.length > 0 && { files }),
    notCompared,
    ...(unrepaired.length > 0 && { unrepaired }),
    ...(removed.length > 0 && { removed }),
    ...(blind !== undefined && { why: blind }),
  })
}

/** More differences than these are in the map and in `--json`. */
const mostParagraphs = 50

interface Told {
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  /** The command that audits one zone, day and sink again. */
  readonly again: (zone: number, day: string, sink: string) => string
}

/** The map, a paragraph for each difference, and the sum of all. Text of the wire is made printable. */
export function auditText(audit: Audit, told: Told, paint: Paint): string {
  const news = audit.findings.flatMap((finding) => newsOf(finding, told, paint))
  const left = news.length - mostParagraphs
  const blocks = [
    mapLines(audit, told, paint),
    ...news.slice(0, mostParagraphs),
    left > 0 ? [`and ${countText(left)} more differences: see --json`] : [],
    sumLines(audit, paint),
  ].filter((lines) => lines.length > 0)
  return blocks.map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function sumLines(audit: Audit, paint: Paint): string[] {
  const [streams, files] = [streamsOf(audit.findings), filesOf(audit.findings)]
  if (streams.length + files.length === 0) return []
  const notYetDue = sumOf(streams, 'notYetDue')
  const late = `Not delivered yet: ${countOf(notYetDue, 'event')}, newer than the last scan of their stream; a run ships them with its next scan.`
  const sum = wrapPlain(summaryOf(audit), paint.width)
  return [
    ...(notYetDue === 0 ? [] : wrapPlain(late, paint.width)),
    ...([...streams, ...files].every(({ isEqual }) => isEqual) ? sum : sum.map(paint.bad)),
  ]
}

/** What differs in one zone, day and sink, and the command that repairs it, on a line that can be copied. */
function newsOf(finding: Finding, { again }: Told, { width }: Paint): string[][] {
  const { zone, day, sink } = finding
  const subject = `${day}, zone ${zoneLabel(finding)} → ${printable(sink)}`
  return paragraphsOf(finding)
    .filter(({ isNews }) => isNews)
    .map(({ text, details, repair = false }) => [
      ...wrapPlain(`${subject}: ${text}`, width),
      ...details.flatMap((detail) => wrap(detail, '  ', width)),
      ...(repair === false
        ? []
        : [`${repair === '--repair' ? 'To ship them' : 'To repair'}: ${again(zone, day, sink)} ${repair}`]),
    ])
}

/** On a terminal, a longer map has only the rows that have something to say. */
const mostRows = 40
const usual = new Set(['ok', 'no events', 'skipped'])
const widestTitle = 32

/** Zones by days: a row a zone, or one for each of its sinks where these differ. As many days side by side as fit. */
function mapLines({ days, findings }: Audit, { zones, sinks }: Told, paint: Paint): string[] {
  const found = new Map(findings.map((each) => [`${each.zone} ${each.day} ${each.sink}`, each]))
  const all = zones.flatMap(({ id: zone, name }) => {
    const title = zoneLabel({ zone, name })
    const bySink = sinks.map((sink) => ({
      title: `${title} → ${printable(sink)}`,
      results: days.map((day) => verdictOf(found.get(`${zone} ${day} ${sink}`))),
    }))
    const kinds = new Set(bySink.map(({ results }) => results.map(({ text }) => text).join()))
    return kinds.size === 1 ? [{ ...bySink[0]!, title }] : bySink
  })
  type Row = (typeof all)[number]
  const isLong = all.length > mostRows && !paint.isPiped
  const rows = isLong ? all.filter(({ results }) => results.some(({ text }) => !usual.has(text))) : all
  const titles: Column<Row> = ['', ({ title }) => title, { most: widestTitle }]
  const columns = days.map((day, index): Column<Row> => {
    const colour = (cell: string, { results }: Row) => paint[results[index]!.tone](cell)
    return [day, ({ results }) => results[index]!.text, { paint: colour }]
  })
  const lines: string[] = []
  for (let from = 0; rows.length > 0 && from < days.length;) {
    const block = (to: number) => [titles, ...columns.slice(from, to)]
    let to = from + 1
    while (to < days.length && tableWidth(rows, block(to + 1), paint) < paint.width) to++
    lines.push(...(from === 0 ? [] : ['']), ...table(rows, block(to), paint))
    from = to
  }
  const left = all.length - rows.length
  const rest = `In ${rows.length === 0 ? 'all' : 'the other'} ${countOf(left, 'row')} nothing differs.`
  return [...lines, ...(left === 0 ? [] : [rest])]
}
