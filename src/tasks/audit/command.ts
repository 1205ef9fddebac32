import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { auditZones } from './audit.ts'
import { stateName } from '../../assemble/state.ts'
import { withKnownZones } from '../../assemble/work.ts'
import { systemClock } from '../../clock.ts'
import { effectiveYaml } from '../../config/print.ts'
import type { Loaded } from '../../config/load.ts'
import type { Day } from '../../domain/day.ts'
import { printable, countText } from '../../domain/text/terminal-text.ts'
import { collectDays, dayForms, collectNames, chooseSinks, chooseZones } from '../options.ts'
import { exitCodes, type Registration } from '../command.ts'
import { commandLine, example } from '../../terminal/program-name.ts'
import { resultOutput, UsageError, type Io, type Output } from '../../terminal/io.ts'
import { canRedraw, createLiveBlock } from '../../terminal/live.ts'
import { aboutText, paintFor, wrapped } from '../../terminal/text.ts'
import type { Audit } from './report-days.ts'
import { isCompared, type Finding } from './result.ts'
import { iso } from '../../domain/text/time.ts'
import { version } from '../../assemble/version.ts'
import { openReport, readKey, readNamed, signatureProblem, signed } from './report.ts'
import { auditText, failureLines, reportOf, auditJson } from './findings.ts'
import type { AuditProgress } from './request.ts'
import { reportPage } from '../../page/report.ts'

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
    .option('--day <day>', `only this day: ${dayForms}; repeatable, takes comma lists`, collectDays)
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--deep', 'read the files and objects of sinks too, and compare them line by line')
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
  const request = { zones, sinks, repair, deep, days, isReported: fill !== undefined, ...progress }
  const audited = await auditZones(config, request, io.signal).finally(() => progress.end())
  const code = exitCodeOf(audited, days !== undefined)
  const isAnyThere = audited.findings.length > 0
  const output = resultOutput(io, repair ? sinks : [])
  const again = (zone: number, day: string, sink: string) => {
    const only = config.sinks.length === 1 ? '' : ` --sink ${sink}`
    return `${commandLine('audit', named)} --zone ${zone} --day ${day}${only}`
  }
  if (json) output.write(auditJson(audited, code === exitCodes.done))
  else if (isAnyThere) {
    const told = { zones, sinks, again }
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
    state: `${stateName(config)} (${audited.storeId ?? 'no state'})`,
    beganAt: iso(beganAtMs),
    endedAt: iso(systemClock.now()),
    isDeep: deep,
  }
  const html = reportPage(reportOf(audited, about))
  fill(key === undefined ? html : signed(html, key))
  io.stderr.write(`report: ${printable(reportFile!)}\n`)
  return code === exitCodes.done && audited.detailsFailed !== undefined ? exitCodes.failed : code
}

function exitCodeOf({ findings, blind }: Audit, areDaysNamed: boolean): number {
  // How long the API keeps a day is an estimate: an older day that --day does not name may be gone.
  const isBlind = (finding: Finding) =>
    !isCompared(finding) &&
    (areDaysNamed || (finding.failure?.code !== 'window_closed' && finding.shipped === undefined))
  if (blind !== undefined || !findings.some(isCompared) || findings.some(isBlind)) return exitCodes.blind
  // A gap counts where the API no longer lists the day, also if its files are whole.
  const differs = ({ stream, file, gap, unrepaired }: Finding) =>
    stream?.isEqual === false ||
    file?.isEqual === false ||
    unrepaired !== undefined ||
    (stream === undefined && gap !== undefined)
  return findings.some(differs) ? exitCodes.failed : exitCodes.done
}

/** A line that is redrawn on a terminal; elsewhere only slow steps are reported. */
function createProgress(output: Output) {
  const block = canRedraw(output) ? createLiveBlock(output) : undefined
  return {
    tell: (text: string) => void (block ?? output).write(wrapped(`${text}\n`, output)),
    progressed({ done, all, listed }: AuditProgress): void {
      const days = `${countText(done)} of ${countText(all)} zone days`
      block?.draw([`comparing: ${days}, ${aboutText(listed)} events listed`])
    },
    end: () => block?.draw([]),
  }
}
