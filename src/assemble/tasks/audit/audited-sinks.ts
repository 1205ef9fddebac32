import type { SinkConfig } from '../../../config/schema/schema.ts'
import type { Identity } from '../../../domain/event/event.ts'
import type { PartEnd } from '../../../domain/part-report.ts'
import { formats, type FormatName } from '../../../formats/registry.ts'
import type { ReadableSink } from '../../../maintenance/audit/audit-files.ts'
import type { AuditedSink, PartLines } from '../../../maintenance/audit/audited-sink.ts'
import type { Store } from '../../../ports/store.ts'
import { compareParts } from '../../../sinks/file/reconcile/compare-parts.ts'
import { readCommitted } from '../../../sinks/file/read/read-committed.ts'

/** What an audit compares of a sink. */
export function auditedSink(sink: SinkConfig, store: Store): AuditedSink {
  if (sink.type !== 'file') return { name: sink.name }
  const identify = identifyAny(sink.format)
  return {
    name: sink.name,
    compareParts: (stream, checkpoint) =>
      compareParts(sink.path, stream, { storeId: store.id, committed: checkpoint?.committed ?? [] }),
    async *readLines(stream, committed): AsyncGenerator<PartLines | PartEnd> {
      for await (const piece of readCommitted(sink.path, stream, committed)) {
        if (!('lines' in piece)) yield piece
        else yield { part: piece.part, from: piece.from, identities: piece.lines.map(identify) }
      }
    },
  }
}

/** Parts may hold lines of a format that the sink had before. */
function identifyAny(first: FormatName): (line: string) => Identity | undefined {
  const others = Object.keys(formats).filter((name) => name !== first) as FormatName[]
  const all = [first, ...others].map((name) => formats[name]())
  return (line) => {
    for (const format of all) {
      const identity = format.identify(line)
      if (identity !== undefined) return identity
    }
    return undefined
  }
}

export function isReadable(sink: AuditedSink): sink is ReadableSink {
  return sink.readLines !== undefined
}
