import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { accessSync, chmodSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Audit } from '../../assemble/audit.ts'
import { Failure } from '../../domain/failure.ts'
import type { ReportRow, ReportView } from '../../domain/status/status-views.ts'
import { systemCode, systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { makeWith } from '../../server/page/parts/elements.js'
import { drawReport } from '../../server/page/report/report.js'
import type { Finding } from '../../maintenance/audit/audit.ts'
import { UsageError } from '../command.ts'
import { countOf, countText, sumOf } from '../../domain/text/counts.ts'
import { failureLines, fileText, removalText, streamText, summaryOf, verdictOf } from './text.ts'

type About = Omit<ReportView, 'level' | 'headline' | 'scope' | 'failures' | 'rows' | 'days'>

/** `about`: where, when and how it was read. */
export function reportOf(audit: Audit, about: About): ReportView {
  const { days, findings, details } = audit
  const failures = failureLines(audit)
  const rowOf = (finding: Finding): ReportRow => {
    const { zone, day, sink, stream, file } = finding
    return { zone: zone.id, name: zone.name, sink, day, result: verdictOf(finding), stream, file }
  }
  const rows = findings.map(rowOf)
  return {
    ...about,
    ...headlineOf(rows, failures.length > 0),
    scope: `${days.length === 1 ? days[0] : `${days[0]} to ${days.at(-1)}`}: ${summaryOf(audit)}`,
    failures,
    rows,
    days: details.map((detail) => {
      const { zone, sink, day } = detail.view
      const finding = findings.find(
        (each) => each.zone.id === zone && each.sink === sink && each.day === day,
      )!
      const { stream, file, removed } = finding
      const told = [
        stream && streamText(stream),
        file && fileText(file, stream),
        removed && removalText(removed),
      ]
      return { ...rowOf(finding), ...detail, texts: told.filter((text) => text !== undefined) }
    }),
  }
}

function headlineOf(rows: readonly ReportRow[], hasFailed: boolean): Pick<ReportView, 'level' | 'headline'> {
  const [bad, unsure] = (['bad', 'warn'] as const).map((tone) =>
    countText(rows.filter(({ result }) => result.tone === tone).length),
  )
  const ofDays = `of ${countOf(rows.length, 'day')} of a zone and sink`
  if (bad !== '0')
    return { level: 'bad', headline: `${bad} ${ofDays} differ, have a gap, or could not be read.` }
  if (unsure !== '0') {
    const others = 'Nothing is missing on the others.'
    return { level: 'attention', headline: `${unsure} ${ofDays} could not be compared. ${others}` }
  }
  const newer = sumOf(
    rows.flatMap(({ stream }) => stream ?? []),
    'notYetDue',
  )
  const upTo =
    newer === 0 ? '.' : ` up to the last scan. Not delivered yet: ${countOf(newer, 'newer event')}.`
  const same = `Nothing is missing: what the API lists and the ledger of shieldlog have the same events${upTo}`
  // Of the repairs that failed, another process has delivered the events meanwhile.
  return hasFailed
    ? { level: 'attention', headline: `${same} A repair failed.` }
    : { level: 'well', headline: same }
}

/** Throws UsageError where a report could not be written: an audit may take long before it is. */
export function checkReportFile(path: string): void {
  const named = `--report ${printable(path)}`
  if (path === '-') throw new UsageError(`${named}: name a file; standard output has the result`)
  if (existsSync(path)) throw new UsageError(`${named}: the file exists; remove it, or name another file`)
  try {
    accessSync(dirname(path), constants.W_OK)
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')
    const why = `${printable(dirname(path))} ${isMissing ? 'does not exist' : 'is not writable'}`
    throw new UsageError(`${named}: ${why}; name a file in a folder that you can write to`)
  }
}

/** Throws UsageError for a file that cannot be read. */
export function readNamed(path: string, remedy: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`${printable(path)} cannot be read: ${systemErrorText(error)}; ${remedy}`)
  }
}

/** Readable by its owner only. Throws Failure, also where the file was made meanwhile. */
export function writeReportFile(path: string, html: string): void {
  try {
    writeFileSync(path, html, { flag: 'wx', mode: 0o600 })
    // Whatever the umask took away.
    chmodSync(path, 0o600)
  } catch (cause) {
    const why = `the report cannot be written to ${printable(path)}: ${systemErrorText(cause)}. Audit again with another --report.`
    throw new Failure('stop', 'unwritable', why, { cause })
  }
}

const styles = [
  '../../server/page/parts/theme.css',
  '../../server/page/parts/parts.css',
  '../../server/page/day/day.css',
  '../../server/page/report/report.css',
]

/** One HTML file that needs nothing else: no script, no other file. Drawn by the code of the status page. */
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
  #attributes = ''
  #children = ''

  constructor(name: string) {
    this.#name = name
  }

  setAttribute(name: string, value: string): void {
    this.#attributes += ` ${name}="${escaped(value)}"`
  }

  /** Children are whole: what is changed of them later is not seen. */
  append(...children: (Markup | string)[]): void {
    for (const child of children) this.#children += typeof child === 'string' ? escaped(child) : String(child)
  }

  toString(): string {
    return `<${this.#name}${this.#attributes}>${this.#children}</${this.#name}>`
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

const before = '<!-- shieldlog signature, Ed25519 of all lines above: '
const after = ' -->\n'

/** Reads an Ed25519 key from a PEM file. Throws UsageError that names the file and what to do. */
export function readKey(path: string, kind: 'private' | 'public'): KeyObject {
  const refuse = (why: string, remedy: string) => new UsageError(`${printable(path)} ${why}; ${remedy}`)
  const make =
    kind === 'private'
      ? 'make one with: openssl genpkey -algorithm ed25519 -out audit-key.pem'
      : 'name the public key of the signer, made with: openssl pkey -in audit-key.pem -pubout'
  const pem = readNamed(path, 'name the PEM file of the key')
  let key: KeyObject
  try {
    // The public key can be had of a private one.
    key = kind === 'private' ? createPrivateKey(pem) : createPublicKey(pem)
  } catch {
    throw refuse(`holds no ${kind} key without a passphrase`, make)
  }
  if (key.asymmetricKeyType === 'ed25519') return key
  throw refuse(`holds a key of type ${key.asymmetricKeyType}, and only Ed25519 is used`, make)
}

/** The report with a last line that holds its signature, which no browser shows. */
export function signed(report: string, key: KeyObject): string {
  return `${report}${before}${sign(null, Buffer.from(report), key).toString('base64')}${after}`
}

/** Why a report is not one that this key has signed; undefined where it is. */
export function signatureProblem(report: Buffer, key: KeyObject): string | undefined {
  const at = report.lastIndexOf(before)
  // Of the line that is not signed nothing may differ: a browser would show what follows a comment.
  const [, signature] = /^([a-z\d+/]{86}==) -->\n$/i.exec(report.toString('latin1', at + before.length)) ?? []
  if (at < 0 || signature === undefined) return 'it has no signature as its last line'
  return verify(null, report.subarray(0, at), key, Buffer.from(signature, 'base64'))
    ? undefined
    : 'it was changed after it was signed, or signed with another key'
}
