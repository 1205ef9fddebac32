import * as z from 'zod'
import { type FieldKind, type Marks, marks } from '../fields/fields.ts'

/**
 * The settings as plain data: the JSON Schema of the file, with shieldlog's marks. Environment names, reference, errors
 * and display are all derived from it.
 */
export interface Shape {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Shape
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly oneOf?: readonly Shape[]
  readonly 'x-marks'?: Marks
}

type Draft = { -readonly [Key in keyof Shape]: Shape[Key] }

/** `finish` may change each part once it is made, the inner ones first. */
export function shapeOf(schema: z.ZodType, finish: (part: Draft) => void = () => undefined): Shape {
  const registered: { get(schema: unknown): Marks | undefined } = marks
  const json: unknown = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const mark = registered.get(zodSchema)
      if (mark !== undefined) Object.assign(jsonSchema, { 'x-marks': mark })
      if (mark?.kind === 'secret') Object.assign(jsonSchema, { type: 'string' })
      finish(jsonSchema as Draft)
    },
  })
  return json as Shape
}

/** The forms that a value may take: one, or the branches of a union, also of one inside a union. */
export function forms(shape: Shape): readonly Shape[] {
  const branches = shape.anyOf ?? shape.oneOf
  return branches === undefined ? [shape] : branches.flatMap(forms)
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The form that fits the type of a value; undefined where none fits. */
export function formFor(shape: Shape, value: unknown): Shape | undefined {
  return forms(shape).find((form) => fits(form, value))
}

function fits(form: Shape, value: unknown): boolean {
  if (Array.isArray(value)) return form.items !== undefined
  if (!isPlainObject(value)) return isScalar(form)
  if (form.properties === undefined) return typeof form.additionalProperties === 'object'
  const tags = Object.entries(form.properties).filter(([, property]) => property.const !== undefined)
  return tags.every(([key, property]) => property.const === (value[key] ?? property.default))
}

export function isScalar({ properties, items, additionalProperties, anyOf, oneOf }: Shape): boolean {
  return (properties ?? items ?? anyOf ?? oneOf) === undefined && typeof additionalProperties !== 'object'
}

/** The scalar form of a union, or the scalar itself. */
export function scalarForm(shape: Shape): Shape | undefined {
  return forms(shape).find((form) => isScalar(form) && form.type !== 'null')
}

/** The object form of a union, or the object itself; undefined where there are several. */
export function objectForm(shape: Shape): Shape | undefined {
  const objects = forms(shape).filter((form) => form.properties !== undefined)
  return objects.length === 1 ? objects[0] : undefined
}

export function acceptsNull(shape: Shape): boolean {
  return forms(shape).some(({ type }) => type === 'null' || (Array.isArray(type) && type.includes('null')))
}

/** The shape of one own key of an object; undefined where it has none. */
export function property(shape: Shape, key: string): Shape | undefined {
  const own = shape.properties !== undefined && Object.hasOwn(shape.properties, key)
  return own ? shape.properties[key] : undefined
}

/** The type of a setting in words: `whole number from 0 to 65535`, `none | gzip`, `list of text`. */
export function typeText(shape: Shape): string {
  const own = forms(shape).filter(({ type }) => type !== 'null')
  const texts = new Set(own.map(formText))
  return [...texts].join(' or ')
}

function formText(form: Shape): string {
  if (form.items !== undefined) return `list of ${typeText(form.items)}`
  if (form.properties !== undefined) return `{ ${Object.keys(form.properties).join(', ')} }`
  if (typeof form.additionalProperties === 'object') return `map of ${typeText(form.additionalProperties)}`
  if (form.enum !== undefined) return form.enum.join(' | ')
  if (form.const !== undefined) return JSON.stringify(form.const).replaceAll('"', '')
  if (form.type === 'integer' || form.type === 'number') return numberText(form)
  if (form.type === 'boolean') return 'true | false'
  const kind = form['x-marks']?.kind
  return kind === undefined ? 'text' : kindTexts[kind]
}

function numberText({ type, minimum, exclusiveMinimum: above, maximum = Infinity }: Shape): string {
  const noun = type === 'integer' ? 'whole number' : 'number'
  const isOpen = maximum >= Number.MAX_SAFE_INTEGER
  if (above !== undefined) return `${noun} above ${above}${isOpen ? '' : `, at most ${maximum}`}`
  return isOpen ? `${noun} of at least ${minimum}` : `${noun} from ${minimum} to ${maximum}`
}

const kindTexts: Readonly<Record<FieldKind, string>> = {
  secret: 'secret text',
  path: 'path',
  url: 'URL',
  address: 'address',
  mode: 'octal text such as "0600"',
}
