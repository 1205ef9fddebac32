/**
 * Allowed values of a label: a closed set, or names of the configuration. `any` is for names that the API gives, which
 * are bounded in length and number where they are read.
 */
export type LabelSet = 'zones' | 'sinks' | 'accounts' | 'scannedZones' | 'apps' | 'any' | readonly string[]

/** Names and values. */
export type Labels = Readonly<Record<string, string>>

export interface MetricDefinition {
  /** Without the prefix. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: Readonly<Record<string, LabelSet>>
  readonly help: string
  /** Upper bounds, for histograms. A histogram has no zone label: the limit is 25 series per zone and sink. */
  readonly buckets?: readonly number[]
}

/** Upper bounds of the histograms, in seconds. */
export const requestBuckets = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
export const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
export const delayBuckets = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400]
