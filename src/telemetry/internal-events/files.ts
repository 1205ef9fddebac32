import { messageOf } from '../../domain/failure.ts'
import type { Definitions } from '../definition.ts'

export const fileInternalEvents: Definitions<
  'FileCut' | 'FileShort' | 'FileReplaced' | 'PartCompressed' | 'CompressionFailed' | 'PartsOfAnotherStore'
> = {
  FileCut: {
    level: 'info',
    meaning:
      'shieldlog cut a part back to its committed length. The events after that length are read again, or are in another part. Normal after a crash. A copy of what was cut is kept for two weeks.',
    count({ sink }, metrics) {
      metrics.count('part_repairs_total', { sink, repair: 'cut' })
    },
    tell({ sink, part, bytes, keptAside }, voice) {
      const copy = keptAside ? '; a copy is kept under .shieldlog/aside/' : ''
      voice.report({
        group: sink,
        level: 'info',
        sink,
        message: `sink ${sink}: cut ${bytes} uncommitted bytes off ${part}${copy}`,
        about: `sink ${sink}: parts cut back to their committed lengths`,
        fields: { sink, keptAside },
        details: { part, bytes },
      })
    },
  },
  FileShort: {
    level: 'error',
    meaning:
      'A part is shorter than its committed length: another program or the disk lost data. Later events go to a new part. `audit --deep` finds what is missing; `audit --deep --repair` writes it again.',
    count({ sink }, metrics) {
      metrics.count('part_repairs_total', { sink, repair: 'short' })
    },
    tell({ sink, part, expected, found }, voice) {
      voice.report({
        group: sink,
        level: 'error',
        sink,
        message: `sink ${sink}: ${part} has ${found} of ${expected} committed bytes: data was lost on disk; \`audit --deep --repair\` writes it again`,
        about: `sink ${sink}: parts shorter than their committed length`,
        fields: { sink },
        details: { part, expected, found },
      })
    },
  },
  FileReplaced: {
    level: 'warn',
    meaning: 'Another program moved, removed or changed a part. Later events go to a new part.',
    count({ sink }, metrics) {
      metrics.count('part_repairs_total', { sink, repair: 'replaced' })
    },
    tell({ sink, part, why }, voice) {
      voice.report({
        group: sink,
        level: 'warn',
        sink,
        message: `sink ${sink}: later events of ${part} go to a new part: ${why}`,
        about: `sink ${sink}: parts that other programs changed`,
        fields: { sink },
        details: { part, why },
      })
    },
  },
  PartCompressed: {
    level: 'debug',
    meaning: 'A closed part was compressed.',
    tell({ sink, part, bytes, compressedBytes }, voice) {
      voice.detail(() => [
        `sink ${sink}: compressed ${part} from ${bytes} to ${compressedBytes} bytes`,
        { sink, part, bytes, compressedBytes },
      ])
    },
  },
  CompressionFailed: {
    level: 'warn',
    meaning: 'A closed part could not be compressed. It stays plain, and compression is tried again later.',
    tell({ sink, part, error }, voice) {
      voice.report({
        group: sink,
        level: 'warn',
        sink,
        message: `sink ${sink}: cannot compress ${part ?? 'closed parts'}, which stay plain: ${messageOf(error)}`,
        about: `sink ${sink}: parts that cannot be compressed`,
        fields: { sink },
        details: { part },
      })
    },
  },
  PartsOfAnotherStore: {
    level: 'warn',
    meaning:
      'The folder contains parts that another store or sink wrote: the store was lost or replaced. shieldlog does not change them and writes new parts; events may be in both.',
    tell({ sink, why }, voice) {
      voice.report({
        group: sink,
        level: 'warn',
        sink,
        message: `sink ${sink}: leaves parts in its folder alone that it did not write: ${why}`,
        about: `sink ${sink}: parts of another store`,
        fields: { sink },
        details: { why },
      })
    },
  },
}
