import * as z from 'zod'
import { type Marks, marks } from '../fields/fields.ts'

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

export function shapeOf(schema: z.ZodType): Shape {
  const registered: { get(schema: unknown): Marks | undefined } = marks
  const json: unknown = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const mark = registered.get(zodSchema)
      if (mark !== undefined) Object.assign(jsonSchema, { 'x-marks': mark })
      if (mark?.kind === 'secret') Object.assign(jsonSchema, { type: 'string' })
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
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isData(value)
}

function isData(value: object): boolean {
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

export function isScalar(shape: Shape): boolean {
  return (
    shape.properties === undefined &&
    shape.items === undefined &&
    typeof shape.additionalProperties !== 'object' &&
    shape.anyOf === undefined &&
    shape.oneOf === undefined
  )
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
