import { presets } from '../../src/sinks/http/presets/registry.ts'
import { markdownTable } from './table.ts'

/** Markdown table of the presets, each with a link to its page. */
export function presetsReference(): string {
  const rows = presets.map(({ name, description, formats, limits }) => [
    `[\`${name}\`](${name === 'json' || name === 'ndjson' ? 'http' : name}.md)`,
    description,
    formats.map((format) => `\`${format}\``).join(', '),
    `${limits.maxEvents.default.toLocaleString('en')} events, ${megabytes(limits.maxBytes.default)}`,
    limits.maxAgeHours === undefined ? '' : `${limits.maxAgeHours.default} h`,
  ])
  return markdownTable(
    ['Preset', 'Ships', 'Formats, the first is the default', 'A body has up to', 'Oldest event'],
    rows,
  )
}

function megabytes(bytes: number): string {
  return `${bytes / 1_000_000} MB`
}
