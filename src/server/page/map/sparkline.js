import { svg } from '../parts/elements.js'

const sparkWidth = 120
const sparkHeight = 24

/**
 * A small line of the last hour; a minute without a value is a hole in it.
 * @param {readonly (number | null)[]} values
 * @param {{ readonly least: number, readonly label: string, readonly text: (value: number) => string }} options `least`: the least height of the scale
 */
export function sparkline(values, { least, label, text }) {
  const known = values.filter((value) => value !== null)
  const most = Math.max(least, ...known)
  const step = sparkWidth / Math.max(1, values.length - 1)
  let path = ''
  let isDown = false
  values.forEach((value, index) => {
    if (value === null) {
      isDown = false
      return
    }
    const y = sparkHeight - 2 - (value / most) * (sparkHeight - 4)
    // A single value is a dot.
    path += `${isDown ? 'L' : 'M'}${(index * step).toFixed(1)} ${y.toFixed(1)}${isDown ? '' : 'h.1'}`
    isDown = true
  })
  return svg(
    'svg',
    {
      class: 'spark',
      viewBox: `0 0 ${sparkWidth} ${sparkHeight}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label':
        known.length === 0
          ? 'nothing measured yet'
          : `${label}: ${text(Math.min(...known))} to ${text(Math.max(...known))}`,
    },
    svg('path', { class: 'ground', d: `M0 ${sparkHeight - 1}H${sparkWidth}` }),
    svg('path', { class: 'line', d: path }),
  )
}
