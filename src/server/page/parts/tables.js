import { element, isolated } from './elements.js'

/**
 * A title that begins with # is that of a column of numbers.
 * @param {readonly string[]} titles
 * @param {readonly (readonly string[])[]} rows
 * @param {string} [name] for a wide table, which is scrolled by keyboard
 */
export function table(titles, rows, name) {
  const isNumber = titles.map((title) => title.startsWith('#'))
  /** @param {number} index */
  const kind = (index) => (isNumber[index] === true ? { class: 'number' } : {})
  return element(
    'div',
    { class: 'scroll', ...(name !== undefined && { tabindex: 0, role: 'group', 'aria-label': name }) },
    element(
      'table',
      { class: 'rows' },
      name === undefined ? null : element('caption', {}, name),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          ...titles.map((title, index) =>
            element('th', { scope: 'col', ...kind(index) }, title.replace('#', '')),
          ),
        ),
      ),
      element(
        'tbody',
        {},
        ...rows.map((row) =>
          element(
            'tr',
            {},
            ...row.map((cell, index) =>
              element(
                index === 0 ? 'th' : 'td',
                { ...(index === 0 && { scope: 'row' }), ...kind(index) },
                isolated(cell),
              ),
            ),
          ),
        ),
      ),
    ),
  )
}
