import type { SinkConfig } from '../../config/schema.ts'
import { countOf, countText, printable, sumOf, wrap, wrapPlain } from '../../domain/text/terminal-text.ts'
import { parsePartName, placeOf } from '../../sinks/file/parts.ts'
import type { Finding } from './result.ts'
import type { FileAudit } from './audit-files.ts'

const mostNamed = 20

export const linesText = (count: number) => `${countText(count)} more ${count === 1 ? 'line' : 'lines'}`

export const foreignLinesOf = ({ foreign }: FileAudit) => sumOf(foreign, 'lines')

/** Parts that a sink's state does not know as its own: one paragraph for all days, and one command that moves all. */
export function foreignBlocks(
  findings: readonly Finding[],
  sinks: readonly SinkConfig[],
  width: number,
): string[][] {
  return sinks.flatMap((sink) => {
    const own = findings.flatMap(({ sink: name, file }) =>
      name === sink.name && file !== undefined ? [file] : [],
    )
    const all = own.flatMap(({ foreign }) => foreign)
    if (all.length === 0) return []
    const whys = [...Map.groupBy(all, ({ why }) => why)].map(
      ([why, each]) =>
        `${linesText(sumOf(each, 'lines'))} in ${countOf(sumOf(each, 'parts'), 'part')} (${printable(why)})`,
    )
    const text = `${printable(sink.name)} has parts that its state does not know: ${whys.join('; ')}. Who reads them finds some events perhaps twice.`
    const parts = own.flatMap((file) => partsOf(file).map((part) => `${placeOf(file)}/${part}`))
    const left = parts.length - mostNamed
    return [
      [
        ...wrapPlain(text, width),
        ...parts.slice(0, mostNamed).flatMap((part) => wrap(printable(part), '  ', width)),
        ...(left > 0 ? [`  and ${countText(left)} more: see --json`] : []),
        ...(sink.type === 'file' ? commandFor(sink.path, parts) : []),
      ],
    ]
  })
}

function partsOf({ parts }: FileAudit): string[] {
  return parts.flatMap(({ part, problem, expectedBytes }) =>
    problem === 'foreign' && expectedBytes === undefined ? part : [],
  )
}

/** Of all days, also of those that were not compared. On a line that can be copied. */
function commandFor(path: string, parts: readonly string[]): string[] {
  const writers = new Set(
    parts.flatMap((part) => parsePartName(part.slice(part.lastIndexOf('/') + 1))?.writer ?? []),
  )
  if (writers.size === 0) return []
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const names = [...writers].map((writer) => `-name '*-${writer}.ndjson*'`).join(' -o ')
  const move = quoted('for p; do mkdir -p "$0/${p%/*}" && mv "$p" "$0/$p"; done')
  const aside = `${path.replace(/\/+$/, '')}-aside`
  return [
    `To move them: cd ${quoted(path)} && find shield_zone=* \\( ${names} \\) -exec sh -c ${move} ${quoted(aside)} {} +`,
  ]
}
