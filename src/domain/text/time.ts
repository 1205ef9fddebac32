const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const minuteMs = 60_000
const mostKept = 2_000

/** Such as `2026-11-22T10:15:`, by minute since the epoch. */
const minutes = new Map<number, string>()
const seconds = Array.from({ length: 60 }, (_, value) => `${String(value).padStart(2, '0')}.`)
const millis = Array.from({ length: 1000 }, (_, value) => `${String(value).padStart(3, '0')}Z`)

/**
 * An instant as `Date.toISOString` writes it, in a tenth of its time: the status of a large fleet has tens of thousands
 * of instants, in few minutes. Throws RangeError for a number that is no instant.
 */
export function iso(atMs: number): string {
  if (!(atMs >= 0 && atMs <= lastMs)) return new Date(atMs).toISOString()
  const ms = Math.floor(atMs) % minuteMs
  const second = seconds[Math.floor(ms / 1000)]! + millis[ms % 1000]!
  return minuteOf(Math.floor(atMs / minuteMs)) + second
}

function minuteOf(minute: number): string {
  const before = minutes.get(minute)
  if (before !== undefined) return before
  const text = new Date(minute * minuteMs).toISOString().slice(0, -'00.000Z'.length)
  if (minutes.size >= mostKept) minutes.clear()
  minutes.set(minute, text)
  return text
}

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** For people: `45 s`, `12 min`, `1 d 10 h`. */
export function durationText(seconds: number): string {
  if (seconds < 0) return `-${durationText(-seconds)}`
  let left = Math.round(seconds)
  const first = units.findIndex(([, size]) => left >= size)
  if (first === -1) return '0 s'
  const parts: string[] = []
  for (const [name, size] of units.slice(first, first + 2)) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0) parts.push(`${count} ${name}`)
  }
  return parts.join(' ')
}

/** `2026-11-20T13:30:00.000Z` without its fraction. */
export function secondText(iso: string): string {
  return iso.replace(/\.\d+Z$/, 'Z')
}

/** One unit, rounded down: `12 min`. */
export function shortDuration(seconds: number): string {
  return durationText(seconds).split(' ').slice(0, 2).join(' ')
}

/** `14:04` on the same day, else with the day. */
export function clockText(iso: string, at: string): string {
  const time = iso.slice(11, 16)
  return iso.slice(0, 10) === at.slice(0, 10) ? time : `${iso.slice(0, 10)} ${time}`
}

/** `in 1 d 21 h`. */
export function fromNow(iso: string, at: string): string {
  const seconds = (Date.parse(iso) - Date.parse(at)) / 1000
  return seconds <= 0 ? `${durationText(-seconds)} ago` : `in ${durationText(seconds)}`
}

/** `2026-11-20 14:03 UTC`. */
export function minuteText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}
