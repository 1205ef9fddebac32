/** The value, which nobody can change any more: one that is given out more than once. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const each of Object.values(value)) freeze<unknown>(each)
  return Object.freeze(value)
}
