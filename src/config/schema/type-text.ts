import { type Shape, forms } from './shape.ts'

/** The type of a setting in words: `whole number from 0 to 65535`, `none | gzip`, `list of text`. */
export function typeText(shape: Shape): string {
  const known = forms(shape).filter(({ type }) => type !== 'null')
  const texts = new Set(known.map(formText))
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
  return textText(form)
}

function numberText({ type, minimum, exclusiveMinimum, maximum }: Shape): string {
  const noun = type === 'integer' ? 'whole number' : 'number'
  const least = exclusiveMinimum === undefined ? minimum : undefined
  const most = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum
  if (exclusiveMinimum !== undefined)
    return most === undefined
      ? `${noun} above ${exclusiveMinimum}`
      : `${noun} above ${exclusiveMinimum}, at most ${most}`
  if (least === undefined) return most === undefined ? noun : `${noun}, at most ${most}`
  return most === undefined ? `${noun} of at least ${least}` : `${noun} from ${least} to ${most}`
}

function textText(form: Shape): string {
  switch (form['x-marks']?.kind) {
    case 'secret':
      return 'secret text'
    case 'path':
      return 'path'
    case 'url':
      return 'URL'
    case 'address':
      return 'address'
    case 'mode':
      return 'octal text such as "0600"'
    default:
      return 'text'
  }
}
