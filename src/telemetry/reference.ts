import { happenings } from './happenings.ts'
import { metricDefinitions } from './metric-definitions.ts'
import { metricPrefix } from './metrics.ts'

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
}

/** A label with its closed set, where it has one. */
function labelText([name, set]: [string, string | readonly string[]]): string {
  return typeof set === 'string' || set.length === 0 ? `\`${name}\`` : `\`${name}\` (${set.join(', ')})`
}

/** Markdown table of all metrics of this program's own. */
export function metricsReference(): string {
  const rows = metricDefinitions.map(({ name, type, labels, help }) => [
    `\`${metricPrefix}${name}\``,
    type,
    Object.entries(labels).map(labelText).join('; '),
    help,
  ])
  return table(['Metric', 'Type', 'Labels', 'Meaning'], rows)
}

/** Markdown table of all events of the log. */
export function eventsReference(): string {
  const rows = Object.entries(happenings).map(([name, { level, meaning }]) => [`\`${name}\``, level, meaning])
  rows.push([
    '`TelemetryFailed`',
    'error',
    'A bug in the log or the metrics themselves; nothing else is affected.',
  ])
  return table(['Event', 'Level', 'Meaning'], rows)
}
