import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ReportView } from '../../domain/status/status-views.ts'
import { makeWith } from '../../server/page/parts/elements.js'
import { drawReport } from '../../server/page/report/report.js'

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
