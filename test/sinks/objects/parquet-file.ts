import type { Event } from '../../../src/domain/event/event.ts'
import { tableFor } from '../../../src/formats/registry.ts'
import type { Table } from '../../../src/ports/delivery.ts'
import { createParquet, readParquet } from '../../../src/sinks/objects/parquet.ts'

/** A file with these events. */
export async function writeParquet(
  table: Table,
  events: readonly Event[],
  signal = new AbortController().signal,
): Promise<Buffer> {
  const { offer, keep, end } = createParquet(table, signal)
  for (const event of events) {
    offer(event)
    await keep()
  }
  return await end()
}

export async function linesIn(file: Buffer, tables = tableFor): Promise<string[]> {
  return (await Array.fromAsync(readParquet(file, tables))).flat()
}
