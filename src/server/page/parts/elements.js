/** Elements are made with the DOM only: text from the server never becomes markup. */

/** Makes elements: the browser's document, or what a process without one put in its place. */
let maker = globalThis.document

/** @param {{ createElement(name: string): unknown, createElementNS(space: string, name: string): unknown }} other */
export function makeWith(other) {
  maker = /** @type {Document} */ (/** @type {unknown} */ (other))
}

/** @typedef {Node | string | null | undefined | false} Child */
/** @typedef {Readonly<Record<string, string | number | boolean | undefined>>} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  return fill(maker.createElement(name), attributes, children)
}

/**
 * @param {string} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function svg(name, attributes = {}, ...children) {
  return fill(maker.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)
}

/**
 * @template {Element} E
 * @param {E} node
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : String(value))
  node.append(...present(children))
  return node
}

/** @param {Child[]} children */
function present(children) {
  return children.filter((child) => child !== null && child !== undefined && child !== false)
}

/**
 * An element of page.html.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element ${id}`)
  return found
}

/**
 * Replaces the children.
 * @param {Element} node
 * @param {...Child} children
 */
export function put(node, ...children) {
  node.replaceChildren(...present(children))
}

/**
 * Sets a text only where it changes, so that readers of live regions and selections are left alone.
 * @param {Element} node
 * @param {string} text
 */
export function putText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

/** Text whose own direction does not reach beyond it.
 * @param {string} text
 * @param {Attributes} [attributes]
 */
export function isolated(text, attributes = {}) {
  return element('bdi', attributes, text)
}
