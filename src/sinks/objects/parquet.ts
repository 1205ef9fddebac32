import { setImmediate } from 'node:timers/promises'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import {
  parquetMetadata,
  parquetReadObjects,
  parquetSchema,
  type RowGroup,
  type SchemaElement,
} from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { cancelled } from '../../domain/failure.ts'
import type { Cell, Column, ColumnType, Table } from '../../ports/delivery.ts'

export interface Row {
  readonly cells: readonly Cell[]
  /** Of the texts in it, about. */
  readonly bytes: number
}

/** More rows save a little space (1 in 50), and a reader cannot leave out as much by the statistics of `time`. */
const rowsInGroup = 5_000
/** A column with all of it takes a thirtieth of a second. */
const bytesInGroup = 8_388_608
/** Their lines are given out together. */
const rowsInPiece = 500
const codec = 'ZSTD'
const compressors = {
  // Level 3 is no smaller.
  [codec]: (bytes: Uint8Array) =>
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
}
const decompressors = { [codec]: (bytes: Uint8Array) => zstdDecompressSync(bytes) }
const layoutKey = 'shieldlog.layout'

/** A file in memory. Its bytes depend on the rows and the table only. Other work gets its turn after each column. */
export function createParquet(table: Table, signal: AbortSignal) {
  const writer = new ByteWriter()
  const schema = schemaOf(table.columns)
  const kvMetadata = [{ key: layoutKey, value: table.layout }]
  const file = new ParquetWriter({ writer, schema, codec, compressors, kvMetadata, createdBy: 'shieldlog' })
  /** Of the group that has not been written. */
  let columns: Cell[][] = table.columns.map(() => [])
  let [rows, bytes, allRows] = [0, 0, 0]

  function hold(row: Row): void {
    for (const [index, column] of columns.entries()) column.push(row.cells[index]!)
    rows += 1
    bytes += row.bytes
  }

  async function writeGroup(): Promise<void> {
    const [group, rowGroupSize] = [columns, rows]
    columns = table.columns.map(() => [])
    allRows += rows
    ;[rows, bytes] = [0, 0]
    // The library writes a group at once, which takes a tenth of a second: it gets a column at a time.
    for (const [index, { name, type }] of table.columns.entries()) {
      if (signal.aborted) throw cancelled(signal.reason)
      const column = { name, data: group[index]!, statistics: hasStatistics(type) }
      await file.write({ columnData: [column], rowGroupSize })
      await setImmediate()
    }
    file.row_groups.push(joined(file.row_groups.splice(-table.columns.length)))
  }

  return {
    /** Returns a promise where other rows have to be written before this one is taken. */
    add(row: Row): Promise<void> | undefined {
      const isFull = rows === rowsInGroup || (rows > 0 && bytes + row.bytes > bytesInGroup)
      if (isFull) return writeGroup().then(() => hold(row))
      hold(row)
      return undefined
    },
    async end(): Promise<Buffer> {
      if (rows > 0) await writeGroup()
      file.num_rows = BigInt(allRows)
      await file.finish()
      return Buffer.from(writer.getBytes())
    },
  }
}

/** The least and the greatest text of a group leave no group out, and take a sixth of the time. */
function hasStatistics(type: ColumnType): boolean {
  return type === 'time' || type === 'int32' || type === 'int64'
}

/** The group whose columns these are. */
function joined(columns: readonly RowGroup[]): RowGroup {
  return {
    columns: columns.flatMap((each) => each.columns),
    num_rows: columns[0]!.num_rows,
    total_byte_size: columns.reduce((sum, each) => sum + each.total_byte_size, 0n),
    total_compressed_size: columns.reduce((sum, each) => sum + (each.total_compressed_size ?? 0n), 0n),
  }
}

function schemaOf(columns: readonly Column[]): SchemaElement[] {
  return [{ name: 'root', num_children: columns.length }, ...columns.flatMap(elementsOf)]
}

const optional = { repetition_type: 'OPTIONAL' } as const
const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const

const scalars: Readonly<Record<ColumnType & string, Omit<SchemaElement, 'name'>>> = {
  text,
  // Not the type JSON, which some readers take for bytes.
  json: text,
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
}

function elementsOf({ name, type }: Column): SchemaElement[] {
  if (typeof type === 'string') return [{ name, ...optional, ...scalars[type] }]
  if ('struct' in type)
    return [{ name, ...optional, num_children: type.struct.length }, ...type.struct.flatMap(elementsOf)]
  if ('list' in type) {
    const list = { name, ...optional, num_children: 1, converted_type: 'LIST' } as const
    const repeated = { name: 'list', repetition_type: 'REPEATED', num_children: 1 } as const
    return [list, repeated, ...elementsOf({ name: 'element', type: type.list })]
  }
  return [
    { name, ...optional, num_children: 1, converted_type: 'MAP' },
    { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
    { name: 'key', repetition_type: 'REQUIRED', ...text },
    { name: 'value', ...optional, ...text },
  ]
}

/**
 * Yields the lines that the rows of a file stand for, some hundred at a time; `tableFor` has the columns of each layout.
 * Other work gets its turn after each column. Throws any error for a file that is damaged, or of a layout that is not
 * known.
 */
export async function* readParquet(
  bytes: Buffer,
  tableFor: (layout: string) => Table | undefined,
): AsyncGenerator<string[]> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const metadata = parquetMetadata(file)
  const layout = metadata.key_value_metadata?.find(({ key }) => key === layoutKey)?.value ?? 'none'
  const table = tableFor(layout)
  if (table === undefined) throw new Error(`this version cannot read columns of layout ${layout}`)
  const parsers = { timestampFromMicroseconds: (micros: bigint) => micros }
  const isThere = new Set(parquetSchema(metadata).children.map(({ element }) => element.name))
  let rowStart = 0
  for (const { num_rows } of metadata.row_groups) {
    const rows = Number(num_rows)
    const range = { rowStart, rowEnd: rowStart + rows }
    const columns: (readonly Cell[])[] = []
    for (const { name } of table.columns) {
      const column = { file, metadata, ...range, columns: [name], compressors: decompressors, parsers }
      const held = isThere.has(name) ? await parquetReadObjects(column) : []
      columns.push(held.map((row) => row[name] as Cell))
      await setImmediate()
    }
    for (let from = 0; from < rows; from += rowsInPiece) {
      const length = Math.min(rowsInPiece, rows - from)
      yield Array.from({ length }, (_, index) =>
        table.line(columns.map((column) => column[from + index] ?? null)),
      )
      await setImmediate()
    }
    rowStart = range.rowEnd
  }
}
