import type { Event } from '../domain/event/event.ts'
import { isObject, type JsonObject } from '../domain/text/json.ts'
import type { Cell, ColumnType, Table } from '../ports/delivery.ts'
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
  const cells = columns.map(({ name, type, at = [name] }) => ({ at, toCell: toCellOf(type) }))
  return {
    layout,
    columns,
    row(event) {
      const held = members(event, partsOf(event))
      return cells.map(({ at, toCell }) => toCell(valueAt(held, at)))
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

/** A value that does not fit the type is null, and never an error: that would cost its neighbours. */
function toCellOf(type: ColumnType): (value: unknown) => Cell {
  if (typeof type === 'string')
    return (value) => (value === undefined || value === null ? null : scalarOf(value, type))
  if ('list' in type) {
    const toCell = toCellOf(type.list)
    return (value) => (Array.isArray(value) ? value.map(toCell) : null)
  }
  if ('map' in type) return (value) => (isObject(value) ? mapOf(value, type.map) : null)
  const members = type.struct.map(({ name, type }) => [name, toCellOf(type)] as const)
  return (value) => {
    if (!isObject(value)) return null
    const cells: Record<string, Cell> = {}
    for (const [name, toCell] of members) cells[name] = toCell(value[name])
    return cells
  }
}

function scalarOf(value: unknown, type: ColumnType & string): Cell {
  if (type === 'json') return jsonLine(value)
  if (type === 'text') return typeof value === 'string' ? value : null
  if (type === 'time') return typeof value === 'string' ? microsOf(value) : null
  if (!Number.isSafeInteger(value)) return null
  const whole = value as number
  if (type === 'int64') return BigInt(whole)
  return whole === (whole | 0) ? whole : null
}

function mapOf(value: JsonObject, json: readonly string[]): Cell {
  const entries = Object.entries(value).filter(([, held]) => held !== undefined)
  const text = (key: string, held: unknown) =>
    typeof held === 'string' && !json.includes(key) ? held : jsonLine(held)
  return Object.fromEntries(entries.map(([key, held]) => [key, text(key, held)]))
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
