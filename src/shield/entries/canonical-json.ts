import { jsonText } from '../../domain/text/json-text.ts'

/** Deeper keys keep the order received: further recursion would end at the stack limit, which varies. */
const sortedLevels = 100

/** JSON text with sorted keys: the same for two entries that differ only in the order of their keys. */
export function canonicalJson(value: unknown, level = 0): string {
  if (typeof value !== 'object' || value === null || level === sortedLevels) return jsonText(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, level + 1)).join(',')}]`
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, held]) => `${JSON.stringify(key)}:${canonicalJson(held, level + 1)}`)
  return `{${members.join(',')}}`
}
