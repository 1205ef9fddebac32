import { setImmediate } from 'node:timers/promises'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { parquetMetadata, parquetReadObjects, type RowGroup, type SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { cancelled } from '../../domain/failure.ts'
import type { Cell, Column, ColumnType, Table } from '../../ports/delivery.ts'

type Rows = readonly (readonly Cell[])[]

/** More rows save a little space (1 in 50), and a reader cannot leave out as much by the statistics of `time`. */
const rowsInGroup = 5_000
const codec = 'ZSTD'
const compressors = {
  // Level 3 is no smaller.
  [codec]: (bytes: Uint8Array) =>
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
}
const decompressors = { [codec]: (bytes: Uint8Array) => zstdDecompressSync(bytes) }
const layoutKey = 'shieldlog.layout'

/** The bytes depend on the rows and the table only. Other work gets its turn after each column. */
export async function writeParquet(table: Table, rows: Rows, signal: AbortSignal): Promise<Buffer> {
  const writer = new ByteWriter()
  const schema = schemaOf(table.columns)
  const kvMetadata = [{ key: layoutKey, value: table.layout }]
  const file = new ParquetWriter({ writer, schema, codec, compressors, kvMetadata, createdBy: 'shieldlog' })
  for (let from = 0; from < rows.length; from += rowsInGroup) {
    const group = rows.slice(from, from + rowsInGroup)
    // The library writes a group at once, which takes a tenth of a second: it gets a column at a time.
    for (const [index, { name }] of table.columns.entries()) {
      if (signal.aborted) throw cancelled(signal.reason)
      const data = group.map((row) => row[index])
      await file.write({ columnData: [{ name, data }], rowGroupSize: group.length })
      await setImmediate()
    }
    const columns = file.row_groups.splice(-table.columns.length)
    file.row_groups.push(joined(columns))
  }
  file.num_rows = BigInt(rows.length)
  await file.finish()
  return Buffer.from(writer.getBytes())
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
 * Yields the lines that the rows of a file stand for, a group of rows at a time; `tableFor` has the columns of each
 * layout. Throws any error for a file that is damaged, or of a layout that is not known.
 */
export async function* readParquet(
  file: Buffer,
  tableFor: (layout: string) => Table | undefined,
): AsyncGenerator<string[]> {
  const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer
  const metadata = parquetMetadata(bytes)
  const layout = metadata.key_value_metadata?.find(({ key }) => key === layoutKey)?.value ?? 'none'
  const table = tableFor(layout)
  if (table === undefined) throw new Error(`this version cannot read columns of layout ${layout}`)
  let rowStart = 0
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows)
    const parsers = { timestampFromMicroseconds: (micros: bigint) => micros }
    const range = { rowStart, rowEnd }
    const rows = await parquetReadObjects({
      file: bytes,
      metadata,
      ...range,
      compressors: decompressors,
      parsers,
    })
    yield rows.map((row) =>
      table.line(table.columns.map(({ name }) => (row[name] as Cell | undefined) ?? null)),
    )
    rowStart = rowEnd
  }
}
