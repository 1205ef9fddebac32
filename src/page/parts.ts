import { html, type Html } from './html.ts'
import { nameOf } from './texts.ts'

export interface Route {
  readonly zone: number
  readonly name: string
  readonly sink: string
}

/** A text whose own direction does not reach beyond it. */
export function isolated(text: string): Html {
  return html`<bdi>${text}</bdi>`
}

export function quiet(text: string | Html): Html {
  return html`<p class="quiet">${text}</p>`
}

/** `shop → siem`, in parts that a narrow screen puts below each other. */
export function routeName(route: Route): Html {
  return html`<bdi class="zone">${nameOf(route)}</bdi><span class="arrow"> → </span><bdi class="sink">${route.sink}</bdi>`
}

/** Content that may be wider than its place; one with a name is scrolled by keyboard too. */
export function scrolled(content: Html, name?: string): Html {
  const attributes = name !== undefined && html` tabindex="0" role="group" aria-label="${name}"`
  return html`<div class="scroll"${attributes}>${content}</div>`
}

/** A title that begins with # is that of a column of numbers. The first cell of a row is its name. */
export function table(
  titles: readonly string[],
  rows: readonly (readonly (string | Html)[])[],
  name?: string,
): Html {
  const kinds = titles.map((title) => title.startsWith('#') && html` class="number"`)
  const head = titles.map((title, at) => html`<th scope="col"${kinds[at]}>${title.replace('#', '')}</th>`)
  function cellOf(content: string | Html, at: number): Html {
    const cell = typeof content === 'string' ? isolated(content) : content
    return at === 0 ? html`<th scope="row"${kinds[0]}>${cell}</th>` : html`<td${kinds[at]}>${cell}</td>`
  }
  return scrolled(
    html`<table class="rows">
      ${name !== undefined && html`<caption>${name}</caption>`}
      <thead><tr>${head}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>${row.map(cellOf)}</tr>`)}</tbody>
    </table>`,
    name,
  )
}

/** Names and texts, a line each. */
export function pairs(rows: readonly (readonly [name: string, text: string])[]): Html {
  return html`<dl class="pairs">${rows.map(
    ([name, text]) => html`<dt>${name}</dt><dd>${isolated(text)}</dd>`,
  )}</dl>`
}
