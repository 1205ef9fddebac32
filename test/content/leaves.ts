/** Every leaf of a document by its dotted name. */
export function leaves(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, held]) => leaves(held, path === '' ? key : `${path}.${key}`))
}
