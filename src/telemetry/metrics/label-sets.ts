import type { Zone } from '../../domain/stream.ts'
import { labelText } from './exposition.ts'
import type { Labels, LabelSet, MetricDefinition } from './metric-definition.ts'

/** The names in the configuration: the only values of the labels `zone`, `sink`, `account` and `app`. */
export interface Known {
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly accounts: readonly string[]
  /** Ids of the zones whose upload scanning is read. */
  readonly scannedZones?: readonly number[]
  /** Applications whose volumes are read. */
  readonly apps?: readonly string[]
}

export interface LabelSets {
  has(set: LabelSet, value: string): boolean
  zone(id: number): Zone | undefined
  /** Every combination of label values that a metric may have, as `textOf` gives it. */
  combinations(definition: MetricDefinition): ReadonlySet<string>
  /**
   * The labels as text, in the order of the definition. Undefined unless each has a value of its set, which prevents
   * series of names that left the configuration.
   */
  textOf(definition: MetricDefinition, labels: Labels): string | undefined
}

export function createLabelSets(known: Known): LabelSets {
  const zones = new Map(known.zones.map((zone) => [zone.id, zone]))
  const sets = {
    zones: new Set(known.zones.map((zone) => String(zone.id))),
    sinks: new Set(known.sinks),
    accounts: new Set(known.accounts),
    scannedZones: new Set(known.scannedZones?.map(String)),
    apps: new Set(known.apps),
    any: new Set<string>(),
  }

  const combined = new Map<string, ReadonlySet<string>>()

  function combine(definition: MetricDefinition): ReadonlySet<string> {
    let combinations: Labels[] = [{}]
    for (const [label, set] of Object.entries(definition.labels)) {
      const values = typeof set === 'string' ? [...sets[set]] : set
      combinations = combinations.flatMap((labels) => values.map((value) => ({ ...labels, [label]: value })))
    }
    return new Set(combinations.map(labelText))
  }

  function has(set: LabelSet, value: string): boolean {
    if (set === 'any') return true
    return typeof set === 'string' ? sets[set].has(value) : set.includes(value)
  }

  return {
    has,
    zone: (id) => zones.get(id),
    combinations(definition) {
      // Metrics with the same labels share them: with thousands of zones they take more memory than the values.
      const key = JSON.stringify(definition.labels)
      const known = combined.get(key) ?? combine(definition)
      combined.set(key, known)
      return known
    },
    textOf(definition, labels) {
      const ordered: Record<string, string> = {}
      for (const [label, set] of Object.entries(definition.labels)) {
        const value = labels[label]
        if (value === undefined || !has(set, value)) return undefined
        ordered[label] = value
      }
      return labelText(ordered)
    },
  }
}
