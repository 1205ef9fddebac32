import { presets } from '../../src/sinks/http/presets/registry.ts'
import type { Cost } from '../bench/cost/cost.ts'
import { readCosts } from '../bench/cost/costs.ts'

/** What an event costs in bytes: a table of the formats, one of the presets, and a sentence for the page of each preset. */
export function costBlocks(): Record<string, string> {
  const costs = readCosts()
  const formatRows = Object.entries(costs.formats).map(([name, { plain, compressed }]) =>
    row([`\`${name}\``, `${plain}`, gigabytes(plain), `${compressed}`]),
  )
  const presetRows = presets.map(({ name, formats, compressions }) => {
    const { plain, compressed } = costs.presets[name]
    return row([
      `\`${name}\``,
      `\`${formats[0]}\``,
      `${plain}`,
      gigabytes(plain),
      `${compressed} (${compressions[0]})`,
    ])
  })
  return {
    'cost-formats': [
      row(['Format', 'Bytes a line', 'A million events', 'Bytes with gzip']),
      row(['---', '--:', '--:', '--:']),
      ...formatRows,
    ].join('\n'),
    'cost-presets': [
      row(['Preset', 'Format', 'Bytes an event', 'A million events', 'Bytes over the network']),
      row(['---', '---', '--:', '--:', '--:']),
      ...presetRows,
    ].join('\n'),
    ...Object.fromEntries(
      presets.map(({ name, formats, compressions }) => [
        `cost-${name}`,
        sentence(costs.presets[name], formats[0], compressions[0]),
      ]),
    ),
  }
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

/** Decimal, as destinations bill them. */
function gigabytes(bytesAnEvent: number): string {
  return `${(bytesAnEvent / 1000).toFixed(2)} GB`
}

function sentence({ plain, compressed }: Cost, format: string, compression: string): string {
  const over = `${compressed} over the network (\`compression: ${compression}\`)`
  return `With \`format: ${format}\`, the default, an event takes ${plain} bytes, and ${over}: a million events are ${gigabytes(plain)}. [How this was measured, and the other formats](../reference/cost.md).`
}
