import { fileShape } from './file-shape.ts'
import { type Shape, isScalar } from './shape.ts'

/** JSON Schema of the file, for editors and for checks before a deployment. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'shieldlog.yaml',
    description: 'Configuration of shieldlog.',
    ...clean(fileShape),
    $defs: {
      template: {
        type: 'string',
        pattern: '\\$\\{',
        description: 'Text with ${NAME} or ${file:/path}',
      },
    },
  }
}

const template = { $ref: '#/$defs/template' }

/** Removes shieldlog's marks and empty defaults; allows a template where a value is not free text. */
function clean(part: Shape): Record<string, unknown> {
  const { 'x-marks': _marks, properties, items, additionalProperties, anyOf, oneOf, required, ...rest } = part
  const plain = Object.fromEntries(
    Object.entries(rest).filter(([key]) => key !== '$schema' && key !== 'default'),
  )
  const cleaned: Record<string, unknown> = {
    ...plain,
    ...(part.default === undefined || isEmptyObject(part.default) ? {} : { default: part.default }),
    ...(required === undefined ? {} : { required }),
    ...(properties === undefined ? {} : { properties: mapValues(properties) }),
    ...(items === undefined ? {} : { items: clean(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: clean(additionalProperties) }
      : {}),
    ...(additionalProperties === false ? { additionalProperties: false } : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(clean) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(clean) }),
  }
  if (!isScalar(part) || part.const !== undefined || part.type === 'null' || isFreeText(part)) return cleaned
  const { description, default: value, ...typed } = cleaned
  return {
    ...(description === undefined ? {} : { description }),
    ...(value === undefined ? {} : { default: value }),
    anyOf: [typed, template],
  }
}

function isFreeText({ type, pattern, enum: names }: Shape): boolean {
  return type === 'string' && pattern === undefined && names === undefined
}

function mapValues(properties: Readonly<Record<string, Shape>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([key, field]) => [key, clean(field)]))
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  )
}
