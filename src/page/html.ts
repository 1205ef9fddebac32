import { printable } from '../domain/text/terminal-text.ts'

/** HTML that only this module makes, so no text becomes markup. */
class Markup {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

export type Html = Markup

/** What may stand in a template, in an element or in a quoted attribute; nothing for what is absent. */
export type Value = Html | string | number | false | null | undefined | readonly Value[]

/** A template of HTML. Texts are escaped, their control characters made visible; HTML stays as it is. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let text = texts[0]!
  values.forEach((value, index) => (text += markupOf(value) + texts[index + 1]!))
  return new Markup(text)
}

/** Only for files of this program, such as a style sheet. */
export function raw(text: string): Html {
  return new Markup(text)
}

const harmless = /^[\w .,:;/+()-]*$/
const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function markupOf(value: Value): string {
  if (value === undefined || value === null || value === false) return ''
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string')
    return harmless.test(value)
      ? value
      : printable(value, Number.POSITIVE_INFINITY).replaceAll(/[&<>"']/g, (each) => escapes[each]!)
  return value instanceof Markup ? value.toString() : value.map(markupOf).join('')
}
