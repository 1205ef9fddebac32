import { setImmediate } from 'node:timers/promises'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import {
  parquetMetadata,
  parquetReadObjects,
  parquetSchema,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { writeColumn } from 'hyparquet-writer/src/column.js'
import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Cell, Column, ColumnType, Leaf, Repeat, Scalar, Table } from '../../ports/delivery.ts'

/** More rows save a little space (1 in 50), and a reader cannot leave out as much by the statistics of `time`. */
const rowsInGroup = 5_000
/** Of texts; a group ends with the row that reaches it. A column with all of it takes a thirtieth of a second. */
const bytesInGroup = 8_388_608
/** Their lines are given out together. */
const rowsInPiece = 500
/** The library's own. */
const pageSize = 1_048_576
const codec = 'ZSTD' as const
const compressors = {
  // Level 3 is no smaller.
  [codec]: (bytes: Uint8Array) =>
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
}
const decompressors = { [codec]: (bytes: Uint8Array) => zstdDecompressSync(bytes) }
const layoutKey = 'shieldlog.layout'

/**
 * A file in memory. Its bytes depend on the events and the table only. Other work gets its turn after each column.
 *
 * The table gives the values of an event straight to the leaves of its columns, which are written one by one: the library
 * would take each object apart once for each leaf of it, and that takes as long as all else.
 */
export function createParquet(table: Table, signal: AbortSignal) {
  const writer = new ByteWriter()
  const schema = schemaOf(table.columns)
  const kvMetadata = [{ key: layoutKey, value: table.layout }]
  const file = new ParquetWriter({ writer, schema, codec, compressors, kvMetadata, createdBy: 'shieldlog' })
  const leaves = [...leavesIn(parquetSchema({ schema }), [])]
  /** Of the group that has not been written. */
  let [rows, bytes] = [0, 0]
  /** Of the event that was offered last. */
  let offered = 0

  async function writeGroup(): Promise<void> {
    const [num_rows, start] = [BigInt(rows), writer.offset]
    ;[rows, bytes] = [0, 0]
    const chunks = []
    for (const leaf of leaves) {
      if (signal.aborted) throw cancelled(signal.reason)
      const written = writeColumn({ writer, ...leaf.taken() })
      file.pendingIndexes.push(written)
      chunks.push(written.chunk)
      // A group takes a tenth of a second.
      await setImmediate()
    }
    file.num_rows += num_rows
    file.row_groups.push({
      columns: chunks,
      num_rows,
      total_byte_size: chunks.reduce((sum, { meta_data }) => sum + meta_data!.total_uncompressed_size, 0n),
      total_compressed_size: BigInt(writer.offset - start),
    })
  }

  return {
    /** Returns the bytes of the event's texts, about. Only what is kept is written. Throws as the table does. */
    offer(event: Event): number {
      for (const leaf of leaves) leaf.drop()
      offered = table.row(event, leaves)
      return offered
    },
    /** Takes in the event that was offered last. Returns a promise where a group has to be written. */
    keep(): Promise<void> | undefined {
      for (const leaf of leaves) leaf.keep()
      rows += 1
      bytes += offered
      return rows === rowsInGroup || bytes >= bytesInGroup ? writeGroup() : undefined
    },
    async end(): Promise<Buffer> {
      if (rows > 0) await writeGroup()
      await file.finish()
      return Buffer.from(writer.getBytes())
    },
  }
}

function* leavesIn({ element, children }: SchemaTree, above: readonly SchemaElement[]): Generator<HeldLeaf> {
  const path = [...above, element]
  if (children.length === 0) yield new HeldLeaf(path)
  for (const child of children) yield* leavesIn(child, path)
}

/** A leaf with its values in the group that has not been written. */
class HeldLeaf implements Leaf {
  readonly #path: SchemaElement[]
  readonly #isRepeated: boolean
  #values: (Scalar | Buffer)[] = []
  #levels: number[] = []
  #repeats: Repeat[] = []
  #kept = 0

  constructor(path: SchemaElement[]) {
    this.#path = path
    this.#isRepeated = path.some(({ repetition_type }) => repetition_type === 'REPEATED')
  }

  add(value: Scalar, level: number, repeat: Repeat): void {
    this.#values.push(value)
    this.#levels.push(level)
    if (this.#isRepeated) this.#repeats.push(repeat)
  }

  keep(): void {
    this.#kept = this.#values.length
  }

  drop(): void {
    if (this.#values.length === this.#kept) return
    for (const held of [this.#values, this.#levels, this.#repeats])
      held.length = Math.min(held.length, this.#kept)
  }

  /** What the library writes of it. It holds nothing afterwards. */
  taken() {
    this.drop()
    const [values, definitionLevels, repetitionLevels] = [this.#values, this.#levels, this.#repeats]
    ;[this.#values, this.#levels, this.#repeats, this.#kept] = [[], [], [], 0]
    const [, ...path] = this.#path
    const element = path.at(-1)!
    const isText = element.type === 'BYTE_ARRAY'
    const isPlain = isText && areDistinct(values)
    return {
      column: {
        columnName: element.name,
        element,
        schemaPath: this.#path,
        codec,
        compressors,
        // The least and the greatest text of a group leave no group out, and take a sixth of the time.
        stats: !isText,
        pageSize,
        columnIndex: false,
        offsetIndex: true,
        ...(isPlain && { encoding: 'PLAIN' as const }),
      },
      pageData: {
        // The library takes ten times as long to encode a text.
        values: isPlain
          ? values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value))
          : values,
        definitionLevels,
        repetitionLevels,
        maxDefinitionLevel: path.filter(({ repetition_type }) => repetition_type !== 'REQUIRED').length,
      },
    }
  }
}

/** A dictionary would have nearly all of these texts. */
function areDistinct(values: readonly unknown[]): boolean {
  const sample = values.slice(0, 1000)
  return new Set(sample).size > 0.9 * sample.length
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

// The library's own leaves out a byte order mark with which a text begins.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const parsers = {
  timestampFromMicroseconds: (micros: bigint) => micros,
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && decoder.decode(bytes),
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
