import { describe, expect, it } from 'vitest'
import { internalEvents } from '../../src/telemetry/telemetry.ts'
import { metricDefinitions } from '../../src/telemetry/metrics/metric-definitions.ts'
import { eventsReference, metricsReference } from './telemetry.ts'

function rowsOf(table: string): string[][] {
  return table.split('\n').map((line) => {
    expect(line).toMatch(/^\| .* \|$/)
    return line.slice(2, -2).split(' | ')
  })
}

describe('the generated reference', () => {
  it('has every metric, with type, labels and meaning', () => {
    const [head, rule, ...rows] = rowsOf(metricsReference())
    expect(head).toHaveLength(4)
    expect(rule).toEqual(['---', '---', '---', '---'])
    expect(rows.map((row) => row.length)).toEqual(metricDefinitions.map(() => 4))
    expect(rows.map(([name]) => name)).toEqual(metricDefinitions.map(({ name }) => `\`shieldlog_${name}\``))
    const gaps = rows.find(([name]) => name === '`shieldlog_gaps_recorded_total`')
    expect(gaps?.[2]).toContain('`zone`; `sink`; `reason` (unreadable, not_running')
  })

  it('has every event, with level and meaning', () => {
    const [, , ...rows] = rowsOf(eventsReference())
    expect(rows.map(([name]) => name)).toEqual(
      [...Object.keys(internalEvents), 'TelemetryFailed'].map((name) => `\`${name}\``),
    )
    for (const [name, level, meaning] of rows) {
      expect(level, name).toMatch(/^(debug|info|warn|error)$/)
      expect(meaning!.length, name).toBeGreaterThan(20)
    }
  })
})
