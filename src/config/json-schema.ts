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
  const { 'x-marks': _marks, properties, items, additionalProperties, anyOf, oneOf, ...plain } = part
  const {
    $schema: _schema,
    description,
    default: value,
    ...typed
  }: Record<string, unknown> = {
    ...plain,
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, field]) => [key, clean(field)])),
    }),
    ...(items !== undefined && { items: clean(items) }),
    ...(additionalProperties === false && { additionalProperties }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: clean(additionalProperties) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(clean) }),
    ...(oneOf !== undefined && { oneOf: oneOf.map(clean) }),
  }
  const { type, pattern, enum: names } = part
  const isFreeText = type === 'string' && pattern === undefined && names === undefined
  const isPlain = !isScalar(part) || part.const !== undefined || type === 'null' || isFreeText
  return {
    ...(description !== undefined && { description }),
    ...(value !== undefined && !isEmptyObject(value) && { default: value }),
    ...(isPlain ? typed : { anyOf: [typed, template] }),
  }
}

function isEmptyObject(value: unknown): boolean {
  return isPlainObject(value) && Object.keys(value).length === 0
}
