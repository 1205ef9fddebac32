import { printable } from './terminal-text.ts'

/** `182,440`, of a whole number. Without `Intl`, which takes 10 ms of the start. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `1 page`, `3 pages`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `1 page`, `182,440 events`. */
export function countOf(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** `a, b and 3 more`: the first of some names, which are made printable. */
export function firstOf(names: readonly (string | number)[], most: number): string {
  const told = names.slice(0, most).map((name) => printable(String(name), 100))
  const more = names.length - told.length
  return `${told.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** What there is any of: `3,000 missing`, not `0 extra`. */
export function someOf(...counts: (readonly [count: number, what: string])[]): string[] {
  return counts.filter(([count]) => count > 0).map(([count, what]) => `${countText(count)} ${what}`)
}

export function sumOf<Name extends string>(
  items: readonly { readonly [key in Name]?: number | undefined }[],
  name: Name,
): number {
  let sum = 0
  for (const item of items) sum += item[name] ?? 0
  return sum
}

/** `101 (shop)`, or the id alone where the name adds nothing. Escapes the name. */
export function zoneText(id: number, name: string): string {
  return name === '' || name === String(id) ? String(id) : `${id} (${printable(name)})`
}

/** `41 GB`, `512 MB`: rounded down. */
export function sizeText(bytes: number): string {
  const gigabytes = bytes / 1e9
  return gigabytes >= 1 ? `${Math.floor(gigabytes)} GB` : `${Math.floor(bytes / 1e6)} MB`
}
