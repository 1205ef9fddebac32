import type { Audit } from '../../assemble/audit.ts'
import type { ReportRow, ReportView } from '../../domain/status/status-views.ts'
import { foreignLinesOf } from '../../domain/audit-report.ts'
import { countOf, countText, jsonResult, someOf, sumOf } from '../terminal/text.ts'
import { failureLines, findingsOf } from './verdict.ts'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  openSync,
  writeFileSync,
  readFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { UsageError } from '../command.ts'
import { createHash } from 'node:crypto'
import { makeWith } from '../../server/page/parts/elements.js'
import { drawReport } from '../../server/page/report/report.js'

/** Where and when an audit read. */
interface AuditReading {
  /** Address of the API. */
  readonly api: string
  readonly host: string
  /** The file of the configuration. */
  readonly configuration?: string | undefined
  /** ms since the epoch. */
  readonly beganAtMs: number
  readonly endedAtMs: number
}

/** What a report shows of an audit. */
export function reportOf(
  audit: Audit,
  { api, host, configuration, beganAtMs, endedAtMs }: AuditReading,
  isDeep: boolean,
): Omit<ReportView, 'version'> {
  const findings = findingsOf(audit)
  const rows = audit.targets.flatMap(({ zone, day, sinks }) =>
    sinks.map((sink): ReportRow => {
      const { stream, file } = foundOf(audit, zone.id, day, sink)
      return {
        zone: zone.id,
        name: zone.name,
        sink,
        day,
        result: findings.verdict(zone.id, day, sink),
        ...(stream !== undefined && { counts: stream }),
        ...(file !== undefined && { lines: file.lines }),
        ...(file !== undefined && foreignLinesOf(file) > 0 && { foreign: foreignLinesOf(file) }),
      }
    }),
  )
  return {
    api,
    host,
    ...(configuration !== undefined && { configuration }),
    beganAt: new Date(beganAtMs).toISOString(),
    endedAt: new Date(endedAtMs).toISOString(),
    ...verdictOf(audit, rows),
    scope: scopeOf(audit, rows),
    isDeep,
    failures: failureLines(audit),
    rows,
    days: audit.details.map((detail) => {
      const { zone, sink, day } = detail.view
      const { stream, file } = foundOf(audit, zone, day, sink)
      return {
        ...detail,
        result: rows.find((row) => row.zone === zone && row.sink === sink && row.day === day)!.result,
        ...(stream !== undefined && { stream }),
        ...(file !== undefined && { file }),
      }
    }),
  }
}

function foundOf({ audited }: Audit, zone: number, day: string, sink: string) {
  const own = audited.find(({ target }) => target.zone.id === zone && target.day === day)
  return {
    stream: own?.streams.find((each) => each.sink === sink),
    file: own?.files.find((each) => each.sink === sink),
  }
}

function verdictOf(audit: Audit, rows: readonly ReportRow[]): Pick<ReportView, 'level' | 'headline'> {
  const bad = rows.filter(({ result }) => result.tone === 'bad')
  const unsure = rows.filter(({ result }) => result.tone === 'warn')
  const days = `${countText(rows.length)} ${rows.length === 1 ? 'day' : 'days'} of a zone and sink`
  if (bad.length > 0)
    return {
      level: 'bad',
      headline: `${whatIsWrong(bad)}, on ${countText(bad.length)} of ${days} that ${rows.length === 1 ? 'was' : 'were'} compared.`,
    }
  if (unsure.length > 0)
    return {
      level: 'attention',
      headline: `${countText(unsure.length)} of ${days} could not be compared. Nothing is missing on the others.`,
    }
  const notYetDue = rows.reduce((sum, { counts }) => sum + (counts?.notYetDue ?? 0), 0)
  const newer =
    notYetDue === 0
      ? '.'
      : ` up to the last scan. ${countOf(notYetDue, 'newer event')} ${notYetDue === 1 ? 'is' : 'are'} not delivered yet.`
  const { zones, sinks, span } = extentOf(audit, rows)
  const same = `Nothing is missing: what the API lists and the ledger of shieldlog were compared for ${zones}, ${sinks} and ${span}, and have the same events${newer}`
  // Of the repairs that failed, another process has delivered the events meanwhile.
  return failureLines(audit).length > 0
    ? { level: 'attention', headline: `${same} A repair failed.` }
    : { level: 'well', headline: same }
}

function whatIsWrong(bad: readonly ReportRow[]): string {
  const counts = bad.map(({ counts: { missing = 0, extra = 0 } = {}, foreign = 0 }) => ({
    missing,
    extra,
    foreign,
  }))
  const others = counts.filter(({ missing, extra, foreign }) => missing + extra + foreign === 0).length
  const [missing, extra, foreign] = [
    sumOf(counts, 'missing'),
    sumOf(counts, 'extra'),
    sumOf(counts, 'foreign'),
  ]
  return someOf(
    [missing, `event${missing === 1 ? '' : 's'} missing`],
    [extra, `event${extra === 1 ? '' : 's'} extra`],
    [foreign, `line${foreign === 1 ? '' : 's'} in files that the state does not know`],
    [others, `day${others === 1 ? '' : 's'} with a gap, an error or files that differ`],
  ).join(', ')
}

function scopeOf(audit: Audit, rows: readonly ReportRow[]): string {
  const listed = sumOf(
    audit.audited.flatMap(({ streams }) => streams.slice(0, 1)),
    'listed',
  )
  const { zones, sinks, span } = extentOf(audit, rows)
  return `${span}: ${zones}, ${sinks}; the API lists ${countOf(listed, 'event')}.`
}

function extentOf({ days }: Audit, rows: readonly ReportRow[]) {
  const [first, last] = [days[0], days.at(-1)]
  return {
    zones: countOf(new Set(rows.map(({ zone }) => zone)).size, 'zone'),
    sinks: countOf(new Set(rows.map(({ sink }) => sink)).size, 'sink'),
    span: first === last ? `${first}` : `${first} to ${last}`,
  }
}

const mode = 0o600

/** Throws UsageError where a report could not be written: an audit may take long before it is. */
export function checkReportFile(path: string): void {
  const named = `--report ${printable(path)}`
  if (existsSync(path)) throw new UsageError(`${named}: the file exists; remove it, or name another file`)
  try {
    accessSync(dirname(path), constants.W_OK)
  } catch (error) {
    throw new UsageError(
      `${named}: ${printable(dirname(path))} ${isMissing(error) ? 'does not exist' : 'is not writable'}; name a file in a folder that you can write to`,
    )
  }
}

/** Readable by its owner only, whatever the umask. Throws Failure, also where the file was made meanwhile. */
export function writeReportFile(path: string, html: string): void {
  try {
    const file = openSync(path, 'wx', mode)
    try {
      fchmodSync(file, mode)
      writeFileSync(file, html)
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    const why = `the report cannot be written to ${printable(path)}: ${systemErrorText(cause)}. Audit again with another --report.`
    throw new Failure('stop', 'unwritable', why, { cause })
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/** One document. `isEqual` is true where all was compared and nothing differs. */
export function auditJson({ days, targets, audited, blind }: Audit, isEqual: boolean): string {
  const streams = audited.flatMap((each) => each.streams)
  const files = audited.flatMap((each) => each.files)
  const reached = new Map(audited.map((each) => [each.target, each]))
  const notCompared = targets.flatMap((target) => {
    const each = reached.get(target)
    if (each !== undefined && each.failure === undefined) return []
    const why = each?.failure?.message ?? 'stopped before it was compared'
    return [{ zone: target.zone.id, name: target.zone.name, day: target.day, why }]
  })
  const unrepaired = audited.flatMap(({ target, unrepaired: own }) =>
    own.map(({ sink, why }) => ({ zone: target.zone.id, day: target.day, sink, why })),
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
    ...(blind !== undefined && { why: blind }),
  })
}

const styles = [
  '../../server/page/parts/theme.css',
  '../../server/page/parts/parts.css',
  '../../server/page/day/day.css',
  '../../server/page/report/report.css',
]

/**
 * A report of an audit as one HTML file that needs nothing else: no script, no other file. Drawn by the code of the
 * status page.
 */
export function writeReport(report: ReportView): string {
  makeWith(markupMaker)
  const style = styles.map((path) => readFileSync(new URL(path, import.meta.url), 'utf8')).join('\n')
  const hash = createHash('sha256').update(style).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<title>${escaped(`shieldlog audit: ${report.headline}`)}</title>
<style>${style}</style>
</head>
${String(drawReport(report))}
</html>
`
}

/** An element of names that the program gives; attributes and children are escaped. */
class Markup {
  readonly #name: string
  readonly #attributes = new Map<string, string>()
  readonly #children: (Markup | string)[] = []

  constructor(name: string) {
    this.#name = name
  }

  setAttribute(name: string, value: string): void {
    this.#attributes.set(name, value)
  }

  append(...children: (Markup | string)[]): void {
    this.#children.push(...children)
  }

  toString(): string {
    const attributes = [...this.#attributes].map(([name, value]) => ` ${name}="${escaped(value)}"`).join('')
    const children = this.#children.map((child) =>
      typeof child === 'string' ? escaped(child) : String(child),
    )
    return `<${this.#name}${attributes}>${children.join('')}</${this.#name}>`
  }
}

/** What the drawing code of the page needs of a document, for a process without a browser: elements that become HTML. */
const markupMaker = {
  createElement: (name: string): Markup => new Markup(name),
  createElementNS: (_: string, name: string): Markup => new Markup(name),
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text that no HTML parser takes for markup, in an element or in a quoted attribute. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => escapes[character]!)
}
