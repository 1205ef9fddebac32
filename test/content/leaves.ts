/** Every leaf of a document by its dotted name. */
export function leaves(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, held]) => leaves(held, path === '' ? key : `${path}.${key}`))
}

/** A JSON schema or a mapping of Elasticsearch. */
export interface Fields {
  readonly type?: unknown
  /** Of a mapping. */
  readonly doc_values?: boolean
  readonly ignore_above?: number
  readonly properties?: Readonly<Record<string, Fields>>
}

/** Every field by its dotted name, those that hold others included. */
export function fieldsIn({ properties = {} }: Fields, path = ''): [string, Fields][] {
  return Object.entries(properties).flatMap(([key, field]) => {
    const name = path === '' ? key : `${path}.${key}`
    return [[name, field] as [string, Fields], ...fieldsIn(field, name)]
  })
}
