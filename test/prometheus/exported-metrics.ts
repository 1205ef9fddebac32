import { expect } from 'vitest'
import { metricDefinitions, type MetricDefinition } from '../../src/telemetry/metrics/metrics.ts'
import type { Asked } from './expressions.ts'

/** By the name that Prometheus sees. */
export const metrics = new Map<string, MetricDefinition>(
  metricDefinitions.flatMap((definition) => {
    const name = `shieldlog_${definition.name}`
    const names =
      definition.type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name]
    return names.map((each) => [each, definition] as const)
  }),
)

/** Fails where an expression names a metric, a label or a value of a closed set that shieldlog does not export. */
export function expectExported(asked: readonly Asked[]): void {
  for (const { metric, matchers } of asked) {
    if (!metric.startsWith('shieldlog_')) continue
    const definition = metrics.get(metric)
    expect(definition, metric).toBeDefined()
    for (const { label, operator, value } of matchers) {
      if (['namespace', 'job', 'instance'].includes(label)) continue
      const values = definition?.labels[label]
      expect(values, `${metric} has no label ${label}`).toBeDefined()
      if (Array.isArray(values) && !operator.includes('~'))
        expect(values, `${label} of ${metric}`).toContain(value)
    }
  }
}
