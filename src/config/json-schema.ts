import { ConfigFile } from './schema.ts'
import { isScalar, type Shape, shapeOf } from './shape.ts'

const template = { $ref: '#/$defs/template' }

/** JSON Schema of the file, for editors and for checks before a deployment. Where a value is not free text, it may be a template. */
export function configJsonSchema(): Record<string, unknown> {
  const settings = shapeOf(ConfigFile, (part) => {
    delete part['x-marks']
    const { type, pattern, const: only, enum: names } = part
    const isFreeText = type === 'string' && pattern === undefined && names === undefined
    if (!isScalar(part) || type === undefined || type === 'null' || only !== undefined || isFreeText) return
    const { description: _about, default: _value, ...typed } = part
    for (const key of Object.keys(typed)) delete part[key as keyof Shape]
    Object.assign(part, { anyOf: [typed, template] })
  })
  return {
    ...settings,
    title: 'shieldlog.yaml',
    description: 'Configuration of shieldlog.',
    $defs: {
      template: { type: 'string', pattern: '\\$\\{', description: 'Text with ${NAME} or ${file:/path}' },
    },
  }
}
