import type { Day } from '../../../src/domain/day.ts'
import { readArchive } from '../../../src/sinks/file/read.ts'

/** All whole lines of a zone's day below a sink's path. Lines of a delivery in progress are among them. */
export async function* readParts(path: string, zone: number, day: string): AsyncGenerator<string> {
  for await (const read of readArchive(path, { zone, day: day as Day }))
    if ('lines' in read) yield* read.lines
}
