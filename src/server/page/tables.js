import { element, isolated } from './elements.js'

/** A title that begins with # is that of a column of numbers. @param {readonly string[]} titles @param {readonly (readonly string[])[]} rows */
export function table(titles, rows) {
  const isNumber = titles.map((title) => title.startsWith('#'))
  /** @param {number} index */
  const kind = (index) => (isNumber[index] === true ? { class: 'number' } : {})
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      { class: 'rows' },
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
