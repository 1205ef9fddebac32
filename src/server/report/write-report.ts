import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ReportView } from '../../domain/status/report-view.ts'
import { makeWith } from '../page/parts/elements.js'
import { escaped, markupMaker } from './markup.ts'
import { drawReport } from '../page/report/report.js'

const styles = [
  '../page/parts/theme.css',
  '../page/parts/parts.css',
  '../page/day/day.css',
  '../page/report/report.css',
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
