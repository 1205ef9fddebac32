/** Figures and times as people read them. All times are UTC. */

const grouped = new Intl.NumberFormat('en-US')
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 })

/** `182,440`. @param {number} count */
export function countText(count) {
  return grouped.format(count)
}

/** At most four characters and a unit: `182K`. @param {number} count */
export function shortCount(count) {
  return compact.format(count)
}

/** `1 route`, `3 routes`. @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** @type {readonly (readonly [string, number])[]} */
const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]

/** `45 s`, `12 min`, `1 d 10 h`. @param {number} seconds @returns {string} */
export function durationText(seconds) {
  let left = Math.max(0, Math.round(seconds))
  const first = units.findIndex(([, size]) => left >= size)
  if (first === -1) return '0 s'
  const parts = []
  for (const [name, size] of units.slice(first, first + 2)) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0) parts.push(`${count} ${name}`)
  }
  return parts.join(' ')
}

/** `12 min`: the largest unit alone, rounded down. @param {number} seconds */
export function shortDuration(seconds) {
  const [name, size] = units.find(([, each]) => seconds >= each) ?? ['s', 1]
  return `${Math.max(0, Math.floor(seconds / size))} ${name}`
}

/** Seconds from `at` until `iso`. @param {string} iso @param {string} at */
export function secondsUntil(iso, at) {
  return (Date.parse(iso) - Date.parse(at)) / 1000
}

/** `in 1 d 21 h`, `3 min ago`. @param {string} iso @param {string} at */
export function fromNow(iso, at) {
  const seconds = secondsUntil(iso, at)
  return seconds <= 0 ? `${durationText(-seconds)} ago` : `in ${durationText(seconds)}`
}

/** `2026-11-20 14:03:12 UTC`. @param {string} iso */
export function secondText(iso) {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

/** `14:03`, with the day where it is another one. @param {string} iso @param {string} at */
export function clockText(iso, at) {
  const time = iso.slice(11, 16)
  return iso.slice(0, 10) === at.slice(0, 10) ? time : `${iso.slice(0, 10)} ${time}`
}

/** `13:02` of the minute of a day. @param {number} minute */
export function minuteText(minute) {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

/** @param {number} bytes */
export function bytesText(bytes) {
  const names = ['B', 'KB', 'MB', 'GB', 'TB']
  let [value, at] = [bytes, 0]
  while (value >= 1000 && at < names.length - 1) {
    value /= 1000
    at++
  }
  return `${at === 0 ? value : value.toPrecision(3)} ${names[at]}`
}

/** Characters that control, hide or reorder text. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Text from the wire or a file on one line, with unsafe characters as escapes. @param {string} text */
export function printable(text) {
  return text.replace(unsafe, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** `shop`, or the id of a zone without a name. @param {{ zone: number, name: string }} route */
export function zoneText({ zone, name }) {
  return name === '' ? String(zone) : printable(name)
}

/** `shop → siem`. @param {{ zone: number, name: string, sink: string }} route */
export function routeText(route) {
  return `${zoneText(route)} → ${printable(route.sink)}`
}
