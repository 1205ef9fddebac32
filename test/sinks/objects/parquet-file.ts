import type { Table } from '../../../src/ports/delivery.ts'
import { createParquet, type Row } from '../../../src/sinks/objects/parquet.ts'

/** A file with these rows. */
export async function writeParquet(
  table: Table,
  rows: readonly Row[],
  signal = new AbortController().signal,
): Promise<Buffer> {
  const { add, end } = createParquet(table, signal)
  for (const row of rows) await add(row)
  return await end()
}
