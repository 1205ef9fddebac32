import { SinkConfig } from '../../config/schema/schema.ts'
import { property, shapeOf, type Shape } from '../../config/schema/shape.ts'

/** A place that events can go to: a kind of sink, or a preset of one. */
export interface Destination {
  /** As `--destination` takes it. */
  readonly name: string
  /** For people. */
  readonly label: string
  /** The settings that make a sink this one. */
  readonly fixed: Readonly<Record<string, string>>
  /** The settings of such a sink. */
  readonly form: Shape
}

/** In the order of the menu; a destination that is not named here follows under its own name. */
const labels: Readonly<Record<string, string>> = {
  file: 'files',
  'splunk-hec': 'Splunk',
  elasticsearch: 'Elastic or OpenSearch',
  loki: 'Grafana Loki',
  otlp: 'OTLP',
  datadog: 'Datadog',
  sentinel: 'Microsoft Sentinel',
  sumologic: 'Sumo Logic',
  newrelic: 'New Relic',
  axiom: 'Axiom',
  betterstack: 'Better Stack',
  syslog: 'syslog',
  ndjson: 'another HTTP endpoint, a JSON object a line',
  json: 'another HTTP endpoint, a JSON array',
  stdout: 'standard output',
}

/** Every destination of the configuration's schema: a new preset or kind of sink needs no change here. */
export function destinations(): Destination[] {
  const all = branches(shapeOf(SinkConfig)).flatMap(destinationsOf)
  const order = Object.keys(labels)
  const place = ({ name }: Destination) => (order.includes(name) ? order.indexOf(name) : order.length)
  return all.toSorted((left, right) => place(left) - place(right))
}

function branches(shape: Shape): Shape[] {
  const inner = shape.anyOf ?? shape.oneOf
  return inner === undefined ? [shape] : inner.flatMap(branches)
}

function destinationsOf(form: Shape): Destination[] {
  const [type] = namesOf(property(form, 'type'))
  if (type === undefined) return []
  const presets = namesOf(property(form, 'preset'))
  if (presets.length > 0)
    return presets.map((preset) => ({ name: preset, label: labelOf(preset), fixed: { type, preset }, form }))
  return [{ name: type, label: labelOf(type), fixed: { type }, form }]
}

function labelOf(name: string): string {
  return labels[name] ?? name
}

function namesOf(field: Shape | undefined): string[] {
  const names = field?.enum ?? (field?.const === undefined ? [] : [field.const])
  return names.filter((name) => typeof name === 'string')
}
