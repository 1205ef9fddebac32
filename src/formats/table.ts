import type { Event } from '../domain/event/event.ts'
import { isObject } from '../domain/text/json.ts'
import type { Cell, ColumnType, Leaf, Repeat, Scalar, Table } from '../ports/delivery.ts'
import { jsonLine, type Parts } from './line.ts'

/** What a format's columns are, besides the members that an event has. */
export interface Layout extends Pick<Table, 'layout' | 'columns'> {
  /** Members that each line begins with and no column has, as JSON text. */
  readonly constants?: Readonly<Record<string, string>>
}

/** The columns of a format whose lines are made of `members`, with what a sink includes. */
export function tableOf(
  { layout, columns, constants = {} }: Layout,
  members: (event: Event, parts: Parts) => object,
  partsOf: (event: Event) => Parts,
): Table {
  let leaf = 0
  const givers = columns.map(({ name, type, at = [name] }) => ({ at, give: giverOf(type, () => leaf++) }))
  return {
    layout,
    columns,
    row(event, leaves) {
      const held = members(event, partsOf(event))
      let bytes = 0
      for (const { at, give } of givers) bytes += give(valueAt(held, at), leaves, 0, 0)
      return bytes
    },
    line(cells) {
      const texts: Record<string, string | Record<string, string>> = { ...constants }
      for (const [index, { name, type, at: [key = name, inner] = [name] }] of columns.entries()) {
        const text = textOf(cells[index], type)
        if (text === undefined) continue
        if (inner === undefined) texts[key] = text
        else texts[key] = { ...(texts[key] as Record<string, string> | undefined), [inner]: text }
      }
      return objectText(texts)
    },
  }
}

function valueAt(members: object, at: readonly string[]): unknown {
  let held: unknown = members
  for (const key of at) held = isObject(held) ? held[key] : undefined
  return held
}

/** Gives a value to the leaves of its type. Returns the bytes of its texts, about. */
type Give = (value: unknown, leaves: readonly Leaf[], level: number, repeat: Repeat) => number

/** A value that does not fit the type is null, and never an error: that would cost its neighbours. */
function giverOf(type: ColumnType, nextLeaf: () => number): Give {
  if (typeof type === 'string') {
    const leaf = nextLeaf()
    return (value, leaves, level, repeat) => {
      const scalar = value === undefined || value === null ? null : scalarOf(value, type)
      leaves[leaf]!.add(scalar, scalar === null ? level : level + 1, repeat)
      return typeof scalar === 'string' ? scalar.length : scalar === null ? 0 : 8
    }
  }
  if ('list' in type)
    return repeated((value) => (Array.isArray(value) ? value : undefined), giverOf(type.list, nextLeaf))
  if ('map' in type) return repeated(entriesOf, entryGiver(type.map, nextLeaf(), nextLeaf()))
  const members = type.struct.map(({ name, type }) => ({ name, give: giverOf(type, nextLeaf) }))
  return (value, leaves, level, repeat) => {
    const held = isObject(value) ? value : undefined
    const own = held === undefined ? level : level + 1
    let bytes = 0
    for (const { name, give } of members) bytes += give(held?.[name], leaves, own, repeat)
    return bytes
  }
}

function repeated(elementsOf: (value: unknown) => readonly unknown[] | undefined, give: Give): Give {
  return (value, leaves, level, repeat) => {
    const elements = elementsOf(value)
    if (elements === undefined) return give(undefined, leaves, level, repeat)
    if (elements.length === 0) return give(undefined, leaves, level + 1, repeat)
    let bytes = 0
    for (const [index, each] of elements.entries())
      bytes += give(each, leaves, level + 2, index === 0 ? repeat : 1)
    return bytes
  }
}

function entriesOf(value: unknown): readonly [name: string, held: unknown][] | undefined {
  return isObject(value) ? Object.entries(value).filter(([, held]) => held !== undefined) : undefined
}

function entryGiver(json: readonly string[], names: number, texts: number): Give {
  return (entry, leaves, level, repeat) => {
    if (entry === undefined) {
      for (const leaf of [names, texts]) leaves[leaf]!.add(null, level, repeat)
      return 0
    }
    const [name, held] = entry as [string, unknown]
    const text = typeof held === 'string' && !json.includes(name) ? held : jsonLine(held)
    leaves[names]!.add(name, level, repeat)
    leaves[texts]!.add(text, level + 1, repeat)
    return name.length + text.length
  }
}

function scalarOf(value: unknown, type: ColumnType & string): Scalar {
  if (type === 'json') return jsonLine(value)
  if (type === 'text') return typeof value === 'string' ? value : null
  if (type === 'time') return typeof value === 'string' ? microsOf(value) : null
  if (!Number.isSafeInteger(value)) return null
  const whole = value as number
  if (type === 'int64') return BigInt(whole)
  return whole === (whole | 0) ? whole : null
}

/** Microseconds since the epoch; null for a text that is no time. What is smaller is cut. */
function microsOf(time: string): bigint | null {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) return null
  return BigInt(Math.floor(ms)) * 1000n + BigInt(/\.\d{3}(\d{3})/.exec(time)?.[1] ?? 0)
}

/** JSON text of a cell; undefined for a null, and where another column has the whole value. */
function textOf(cell: Cell | undefined, type: ColumnType): string | undefined {
  if (cell === undefined || cell === null || type === 'time') return undefined
  if (type === 'json') return cell as string
  if (typeof cell === 'string') return jsonLine(cell)
  if (typeof cell !== 'object') return String(cell)
  // No column of a plain type holds an object.
  if (typeof type === 'string') return undefined
  if ('list' in type) return `[${(cell as Cell[]).map((each) => textOf(each, type.list) ?? 'null').join()}]`
  const types = new Map<string, ColumnType>(
    'map' in type ? type.map.map((key) => [key, 'json']) : type.struct.map(({ name, type }) => [name, type]),
  )
  const texts = Object.entries(cell as Record<string, Cell>).flatMap(([key, each]) => {
    const text = textOf(each, types.get(key) ?? 'text')
    return text === undefined ? [] : [[key, text] as const]
  })
  return objectText(Object.fromEntries(texts))
}

type Texts = { readonly [key: string]: string | Texts }

function objectText(texts: Texts): string {
  const members = Object.entries(texts).map(
    ([key, text]) => `${JSON.stringify(key)}:${typeof text === 'string' ? text : objectText(text)}`,
  )
  return `{${members.join()}}`
}
