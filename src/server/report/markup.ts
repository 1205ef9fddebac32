/** What the drawing code of the page needs of a document, for a process without a browser: elements that become HTML. */

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text that no HTML parser takes for markup, in an element or in a quoted attribute. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => escapes[character]!)
}

/** An element of names that the program gives; attributes and children are escaped. */
export class Markup {
  readonly #name: string
  readonly #attributes = new Map<string, string>()
  readonly #children: (Markup | string)[] = []

  constructor(name: string) {
    this.#name = name
  }

  setAttribute(name: string, value: string): void {
    this.#attributes.set(name, value)
  }

  append(...children: (Markup | string)[]): void {
    this.#children.push(...children)
  }

  toString(): string {
    const attributes = [...this.#attributes].map(([name, value]) => ` ${name}="${escaped(value)}"`).join('')
    const children = this.#children.map((child) =>
      typeof child === 'string' ? escaped(child) : String(child),
    )
    return `<${this.#name}${attributes}>${children.join('')}</${this.#name}>`
  }
}

/** Stands where the page has its document. */
export const markupMaker = {
  createElement: (name: string): Markup => new Markup(name),
  createElementNS: (_: string, name: string): Markup => new Markup(name),
}
