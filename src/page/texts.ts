/** Figures and times as people read them. All times are UTC. */

/** `2026-11-20 14:03:12 UTC`. */
export function instantText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

/** `13:02` of the minute of a day. */
export function minuteText(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

/** At most four characters and a unit: `182K`. */
export function shortCount(count: number): string {
  const [value, unit] = scaled(count, ['', 'K', 'M', 'G', 'T'])
  return `${value}${unit}`
}

/** `3.4 MB`. */
export function bytesText(bytes: number): string {
  return scaled(bytes, ['B', 'KB', 'MB', 'GB', 'TB']).join(' ')
}

/** Three digits, and the unit of that magnitude. */
function scaled(count: number, units: readonly string[]): [value: number, unit: string] {
  let [value, at] = [count, 0]
  // 999,950 is a million, not a thousand thousands.
  for (; Number(value.toPrecision(3)) >= 1000 && at < units.length - 1; at++) value /= 1000
  return [Number(value.toPrecision(3)), units[at]!]
}

/** The name of a zone, or the id of one without a name. */
export function nameOf({ zone, name }: { readonly zone: number; readonly name: string }): string {
  return name === '' ? String(zone) : name
}

/** `shop → siem`. */
export function routeText(route: {
  readonly zone: number
  readonly name: string
  readonly sink: string
}): string {
  return `${nameOf(route)} → ${route.sink}`
}

/** Seconds from one instant to a later one; 0 where it is none. */
export function secondsBetween(from: string, to: string): number {
  return Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000)
}

/** What there is of a list of texts. */
export function present(texts: readonly (string | false)[], separator: string): string {
  return texts.filter((text) => text !== false && text !== '').join(separator)
}
