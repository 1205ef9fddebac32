import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { exactJson } from '../../src/domain/text/decode.ts'
import { isObject, jsonText, numberText, type Json, type JsonObject } from '../../src/domain/text/json.ts'
import { createFormat } from '../../src/formats/registry.ts'
import type { Column, ColumnType, Table } from '../../src/ports/delivery.ts'
import { fencesOf } from '../docs/pages.ts'
import { buildEvent } from '../formats/events.ts'
import { writeParquet } from '../sinks/objects/parquet-file.ts'
import { startProcess } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { endOf } from '../e2e/workplace.ts'
import type { Shipped } from './every-kind.ts'
import { installedAt } from './intake.ts'
import { lakes, type Kind } from './lake.ts'

// The queries of the page run as they are printed. Rows are compared, since a count reads no column.

const fences = fencesOf(readFileSync(`${projectFolder}docs/destinations/readers.md`, 'utf8'))
const home = () => installedAt('readers')

let folderOf: (kind: Kind) => string
let shipped: readonly Shipped[]

beforeAll(async () => {
  ;({ folderOf, shipped } = await lakes())
})

const readers = ['duckdb', 'clickhouse', 'polars', 'pyarrow'] as const
type Reader = (typeof readers)[number]

const printed = fences.flatMap(({ marks, text }) => {
  const reader = readers.find((each) => each === marks[0])
  if (reader === undefined) return []
  const [, file, given] = marks as [string, Kind['file'], Kind['format'] | undefined]
  const formats = given === undefined ? (['native', 'ocsf'] as const) : [given]
  return formats.map((format) => ({ reader, kind: { file, format }, text }))
})

interface Read {
  readonly types: Readonly<Record<string, Type>>
  readonly rows: readonly JsonObject[]
}
type Type = string | readonly [Type] | { readonly [name: string]: Type }

async function readAt(reader: Reader, folder: string, text: string) {
  const script = `${projectFolder}test/intakes/servers/readers/read.py`
  const child = startProcess(join(home(), 'python/bin/python'), [script, reader], {
    cwd: folder,
    env: { TZ: 'UTC' },
    input: text,
  })
  return await endOf(child)
}

test('the page has queries of all readers', () => {
  expect(new Set(printed.map(({ reader }) => reader))).toEqual(new Set(readers))
  expect(printed.length).toBeGreaterThanOrEqual(14)
})

describe.each(printed)('$reader reads $kind.file in $kind.format', ({ reader, kind, text }) => {
  test('every row and type, of ordinary objects and an odd one', async () => {
    const { code, stdout, stderr } = await readAt(reader, folderOf(kind), text)
    expect(code, stderr).toBe(0)
    const { types, rows } = JSON.parse(stdout) as Read
    expectTypes(types, kind, reader)
    const events = shipped.filter(({ event }) => kind.format === 'native' || event.time !== undefined)
    const hasPlace = types['day'] !== undefined
    const expected = events.map((each) => ({
      ...expectedRow(each, kind),
      ...(hasPlace && { shield_zone: each.event.zone.id, day: each.day }),
    }))
    const found = rows.map((row) => comparable(row, kind))
    expect(found).toHaveLength(expected.length)
    const keyOf = ({ id = null, metadata = null, time = null }: JsonObject) =>
      jsonText([isObject(metadata) ? metadata['uid'] : id, time])
    const byKey = new Map(found.map((row) => [keyOf(row), row]))
    // DuckDB writes the numbers of JSON anew.
    const textOf = reader === 'duckdb' && kind.file === 'ndjson' ? roundedText : sortedText
    const wrong = expected.filter((row) => {
      const same = byKey.get(keyOf(row))
      return same === undefined || textOf(same) !== textOf(row)
    })
    expect(wrong.slice(0, 3).map((row) => [row, byKey.get(keyOf(row))])).toEqual([])
  })
})

describe.each(printed.filter(({ kind }) => kind.file === 'parquet'))(
  '$reader reads Parquet in $kind.format',
  ({ reader, kind: { format }, text }) => {
    test('of an older version and of one with a column more together', async () => {
      const read = async (objects: readonly Buffer[]) => {
        const folder = temporaryFolder()
        for (const [index, body] of objects.entries()) {
          const day = join(folder, `shield/shield_zone=101/day=2025-11-2${index}`)
          mkdirSync(day, { recursive: true })
          writeFileSync(join(day, 'store-000001.parquet'), body)
        }
        const { code, stdout, stderr } = await readAt(reader, folder, text)
        expect(code, stderr).toBe(0)
        const { types, rows } = JSON.parse(stdout) as Read
        return { types, rows: rows.map((row): JsonObject => ({ ...row, day: null })) }
      }
      const older = readFileSync(`${projectFolder}test/fixtures/lake/${format}-1.parquet`)
      const table = createFormat({ format }).table!
      const columns = [...table.columns, { name: 'added', type: 'text' }] as const
      const row: Table['row'] = (event, leaves) => {
        leaves.at(-1)!.add('new', 1, 0)
        return table.row(event, leaves)
      }
      const newer = await writeParquet({ ...table, columns, row }, [buildEvent()])
      const alone = await read([older])
      const { types, rows } = await read([older, newer, older])
      expect(types).toEqual({ ...alone.types, added: 'text' })
      expect(rows.filter(({ added }) => added === 'new')).toHaveLength(1)
      const before = alone.rows.map((each) => ({ ...each, added: null }))
      const sorted = (all: readonly JsonObject[]) => all.map((each) => sortedText(each)).toSorted()
      expect(sorted(rows.filter(({ added }) => added !== 'new'))).toEqual(sorted([...before, ...before]))
    })
  },
)

const jsonColumns = new Set(['labels', 'log', 'other', 'raw', 'set'])
const columnsOf = ({ format }: Kind): readonly Column[] => createFormat({ format }).table!.columns

/** What a reader should show of an event: no nulls, and times to the microsecond. */
function expectedRow({ event }: Shipped, kind: Kind): JsonObject {
  const line = exactJson(createFormat({ format: kind.format }).encode(event)) as JsonObject
  if (kind.format === 'ocsf') return comparable(line, kind)
  const members =
    kind.file === 'parquet'
      ? columnsOf(kind).map(({ name, at = [name] }) => [name, valueAt(line, at)] as const)
      : Object.entries(line).filter(([name]) => name !== 'v')
  return rowOf(Object.fromEntries(members))
}

function valueAt(line: JsonObject, at: readonly string[]): Json {
  let held: Json = line
  for (const name of at) held = isObject(held) ? (held[name] ?? null) : null
  return held
}

/** A row as it was read, in the same form. */
function comparable(row: JsonObject, { format }: Kind): JsonObject {
  if (format === 'native') return rowOf(row)
  const { unmapped, ...members } = row
  const pairs = Array.isArray(unmapped) ? (unmapped as [string, Json][]) : []
  const map = isObject(unmapped ?? null) ? unmapped! : Object.fromEntries(pairs)
  const plain = withoutNulls({ ...members, unmapped: map }) as JsonObject
  const metadata = plain['metadata'] as JsonObject
  return { ...plain, metadata: { ...metadata, original_time: timeOf(metadata['original_time']) ?? null } }
}

function rowOf(row: JsonObject): JsonObject {
  const members = Object.entries(row).map(([name, value]): [string, Json] => {
    if (name === 'time') return [name, timeOf(value) ?? null]
    if (!jsonColumns.has(name)) return [name, withoutNulls(value)]
    return [name, typeof value === 'string' ? exactJson(value)! : value]
  })
  return Object.fromEntries(members.filter(([, value]) => value !== null && !isEmpty(value)))
}

/** ClickHouse has no null for a list. */
const isEmpty = (value: Json) => (isObject(value) || Array.isArray(value)) && Object.keys(value).length === 0

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map((each) => withoutNulls(each as Json))
  if (!isObject(value)) return value
  const members = Object.entries(value).map(([name, held]) => [name, withoutNulls(held)] as const)
  return Object.fromEntries(members.filter(([, held]) => held !== null && !isEmpty(held)))
}

/** To the microsecond, without needless zeros. */
function timeOf(value: Json | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  const [, seconds, fraction = ''] = /^(.{19})(?:\.(\d+))?(?:Z|\+00:00)$/.exec(value)!
  return `${seconds}.${fraction.slice(0, 6).replace(/0+$/, '')}`
}

const roundedText = (value: Json) => sortedText(value, (number) => String(Number(number)))

function sortedText(value: Json, written = (number: string) => number): string {
  if (Array.isArray(value)) return `[${value.map((each) => sortedText(each as Json, written)).join()}]`
  const number = numberText(value)
  if (number !== undefined) return written(number)
  if (!isObject(value)) return jsonText(value)
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, held]) => `${JSON.stringify(name)}:${sortedText(held, written)}`).join()}}`
}

function expectTypes(types: Read['types'], kind: Kind, reader: Reader): void {
  const { shield_zone: zone, day, ...own } = types
  if (reader === 'polars' && kind.file === 'ndjson') expect([zone, day]).toEqual([undefined, undefined])
  else expect(`${zone as string} ${day as string}`).toMatch(/^int(?:32|64) (?:text|date32\[day\])$/)
  const isGuessed = kind.file === 'ndjson' && kind.format === 'ocsf'
  const wanted = kind.file === 'ndjson' && kind.format === 'native' ? lineTypes : typesOf(columnsOf(kind))
  if (isGuessed) expect(own).toEqual(guessedFrom(wanted, own))
  else
    expect(
      JSON.parse(JSON.stringify(own).replaceAll(/timestamp\[[un]s, tz=(?:Etc\/)?UTC\]/g, 'time')),
    ).toEqual(wanted)
}

const text = 'text'
/** As the page gives them. */
const lineTypes: Read['types'] = {
  id: text,
  time: 'time',
  zone: { id: 'int64', name: text },
  action: text,
  severity: text,
  pop: text,
  rule: { id: text, group: text, message: text },
  client: { address: text, ip: text, asn: 'int64', country: text },
  response: { status: 'int32' },
  match: { operator: text, value: text },
  request: { id: text, method: text, url: text, userAgent: text },
  other: text,
  labels: text,
  log: text,
  raw: text,
  set: text,
}

function typesOf(columns: readonly Column[]): Read['types'] {
  return Object.fromEntries(columns.map(({ name, type }) => [name, typeOf(type)]))
}

function typeOf(type: ColumnType): Type {
  if (typeof type === 'string') return type === 'json' ? text : type
  if ('list' in type) return [typeOf(type.list)]
  return 'map' in type ? 'map of text' : typesOf(type.struct)
}

/** Of the fields that a reader found; whole numbers are 64 bits long, and texts may be times. */
function guessedFrom(wanted: Read['types'], found: Read['types']): Type {
  const guessed = (type: Type, held: Type): Type => {
    if (type === 'map of text') return typeof held === 'string' ? text : mapped(held as Read['types'])
    if (type === 'int32') return 'int64'
    if (typeof type === 'string')
      return typeof held === 'string' && held.startsWith('timestamp[') ? held : type
    if (Array.isArray(type)) return [guessed(type[0] as Type, (held as readonly [Type])[0])]
    return guessedFrom(type as Read['types'], held as Read['types'])
  }
  return Object.fromEntries(Object.entries(found).map(([name, held]) => [name, guessed(wanted[name]!, held)]))
}

const mapped = (held: Read['types']) => Object.fromEntries(Object.keys(held).map((name) => [name, text]))

describe('Athena', () => {
  const statements = fences.filter(({ marks }) => marks[0] === 'athena')
  const parse = async (input: string) => {
    const classes = ['-cp', `${home()}/classes:${home()}/lib/*`]
    return await endOf(startProcess('java', [...classes, 'HiveParser'], { input }))
  }

  test.each(statements)('a statement of the page is one of Hive: $marks.1', async (statement) => {
    const { code, stdout, stderr } = await parse(statement.text)
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(/tok_createtable/i)
    // Reserved words must be quoted there.
    expect((await parse(statement.text.replace('`time`', 'time'))).code).toBe(1)
  })

  test('the table for Parquet has all columns, with their types', async () => {
    const { text: statement } = statements.find(({ marks }) => marks[1] === 'parquet')!
    const { stdout } = await parse(statement)
    const found = [...stdout.matchAll(/\(tok_tabcol `?(\w+)`? tok_(\w+)\)/gi)].map(([, name, type]) => [
      name,
      type!.toLowerCase(),
    ])
    const types = { text: 'string', json: 'string', time: 'timestamp', int32: 'int', int64: 'bigint' }
    const columns = columnsOf({ file: 'parquet', format: 'native' })
    expect(found.slice(0, columns.length)).toEqual(
      columns.map(({ name, type }) => [name, types[type as keyof typeof types]]),
    )
    expect(found.slice(columns.length)).toEqual([
      ['shield_zone', 'int'],
      ['day', 'string'],
    ])
  })
})

test.each(['polars', 'pyarrow'] as const)(
  '%s ends with an error at lines in native with odd entries, as the page says',
  async (reader) => {
    const { text } = printed.find((each) => each.reader === reader && each.kind.file === 'ndjson')!
    const { code, stderr } = await readAt(reader, folderOf({ file: 'ndjson', format: 'native' }), text)
    expect(code).toBe(1)
    expect(stderr).toMatch(/error parsing line|JSON parse error/)
  },
)
