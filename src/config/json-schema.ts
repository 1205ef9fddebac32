import { fileShape } from './file-shape.ts'
import { type Shape, isPlainObject, isScalar } from './shape.ts'

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
  const { 'x-marks': _marks, description, default: value, ...plain } = part
  const { $schema: _schema, ...typed } = Object.fromEntries(
    Object.entries(plain).map(([key, held]: [string, unknown]) => [key, inside(key, held)]),
  )
  const { type, pattern, enum: names } = part
  const isFreeText = type === 'string' && pattern === undefined && names === undefined
  const isPlain = !isScalar(part) || part.const !== undefined || type === 'null' || isFreeText
  const isEmpty = isPlainObject(value) && Object.keys(value).length === 0
  return {
    ...(description !== undefined && { description }),
    ...(value !== undefined && !isEmpty && { default: value }),
    ...(isPlain ? typed : { anyOf: [typed, template] }),
  }
}

/** What a key of a shape holds: shapes by name, a list of shapes, a shape, or plain data. */
function inside(key: string, held: unknown): unknown {
  if (key === 'properties')
    return Object.fromEntries(
      Object.entries(held as object).map(([name, field]) => [name, clean(field as Shape)]),
    )
  if (key === 'anyOf' || key === 'oneOf') return (held as Shape[]).map(clean)
  return (key === 'items' || key === 'additionalProperties') && isPlainObject(held) ? clean(held) : held
}
