import { internalEvents } from '../../src/telemetry/telemetry.ts'
import { metricDefinitions, metricPrefix } from '../../src/telemetry/metrics/metric-definitions.ts'
import { markdownTable } from './table.ts'

/** A label with its closed set, where it has one. */
function labelText([name, set]: [string, string | readonly string[]]): string {
  return typeof set === 'string' ? `\`${name}\`` : `\`${name}\` (${set.join(', ')})`
}

/** Markdown table of all metrics of this program's own. */
export function metricsReference(): string {
  const rows = metricDefinitions.map(({ name, type, labels, help }) => [
    `\`${metricPrefix}${name}\``,
    type,
    Object.entries(labels).map(labelText).join('; '),
    help,
  ])
  return markdownTable(['Metric', 'Type', 'Labels', 'Meaning'], rows)
}

/** Markdown table of all events of the log. */
export function eventsReference(): string {
  const rows = Object.entries(internalEvents).map(([name, { level, meaning }]) => [
    `\`${name}\``,
    level,
    meaning,
  ])
  rows.push([
    '`TelemetryFailed`',
    'error',
    'A bug in the log or the metrics themselves; nothing else is affected.',
  ])
  return markdownTable(['Event', 'Level', 'Meaning'], rows)
}
