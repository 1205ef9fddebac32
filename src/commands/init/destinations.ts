import { SinkConfig } from '../../config/schema/schema.ts'
import { forms, property, shapeOf, type Shape } from '../../config/schema/shape.ts'

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

/** What is no preset, in the order of the menu: presets come in the place of `http`, by their titles. */
const labels: Readonly<Record<string, string>> = {
  file: 'files',
  http: '',
  syslog: 'syslog',
  stdout: 'standard output',
}

/** Every destination of the configuration's schema: a new preset or kind of sink needs no change here. */
export function destinations(): Destination[] {
  const all = forms(shapeOf(SinkConfig)).flatMap(destinationsOf)
  const order = Object.keys(labels)
  const place = ({ fixed }: Destination) => order.indexOf(fixed['type'] ?? '')
  return all.toSorted((left, right) => place(left) - place(right))
}

function destinationsOf(form: Shape): Destination[] {
  const type = nameOf(property(form, 'type'))
  if (type === undefined) return []
  const preset = nameOf(property(form, 'preset'))
  if (preset !== undefined)
    return [{ name: preset, label: form.title ?? preset, fixed: { type, preset }, form }]
  return [{ name: type, label: labels[type] ?? type, fixed: { type }, form }]
}

function nameOf(field: Shape | undefined): string | undefined {
  return typeof field?.const === 'string' ? field.const : undefined
}
