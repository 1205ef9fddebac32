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
