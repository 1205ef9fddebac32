const grouped = new Intl.NumberFormat('en-US')
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

/** `182,440`. */
export function countText(count: number): string {
  return grouped.format(count)
}

/** `1.2 M`. */
export function aboutText(count: number): string {
  return compact.format(count).replace(/(?<=\d)(?=[A-Z])/, ' ')
}

/** `1 page`, `3 pages`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `1 page`, `182,440 events`. */
export function countOf(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`
}
