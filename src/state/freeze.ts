/** Freezes a value that is given to several callers, deeply, so that none can change it. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const each of Object.values(value)) freeze<unknown>(each)
  return Object.freeze(value)
}
