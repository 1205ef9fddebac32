import { messageOf } from '../../domain/failure.ts'
import type { Definitions } from '../definition.ts'

export const fileInternalEvents: Definitions<
  'FileCut' | 'FileShort' | 'FileReplaced' | 'PartCompressed' | 'CompressionFailed' | 'PartsOfAnotherStore'
> = {
  FileCut: {
    level: 'info',
    meaning:
      'What a part held beyond its committed length was cut off: it is read again, or stands in another part. Usual after a crash. A copy is kept for two weeks.',
    count({ sink }, metrics) {
      metrics.count('partRepairs', { sink, repair: 'cut' })
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
      'A part is shorter than what was committed to it: somebody else cut or lost data. Later events go to a new part; `audit --deep` finds what is missing and `audit --deep --repair` writes it again.',
    count({ sink }, metrics) {
      metrics.count('partRepairs', { sink, repair: 'short' })
    },
    tell({ sink, part, expected, found }, voice) {
      voice.report({
        group: sink,
        level: 'error',
        sink,
        message: `sink ${sink}: ${part} holds ${found} bytes of ${expected} committed ones: data was lost on disk; \`audit --deep --repair\` writes it again`,
        about: `sink ${sink}: parts shorter than their committed`,
        fields: { sink },
        details: { part, expected, found },
      })
    },
  },
  FileReplaced: {
    level: 'warn',
    meaning: 'A part was moved, removed or written to by somebody else; later events go to a new part.',
    count({ sink }, metrics) {
      metrics.count('partRepairs', { sink, repair: 'replaced' })
    },
    tell({ sink, part, why }, voice) {
      voice.report({
        group: sink,
        level: 'warn',
        sink,
        message: `sink ${sink}: ${part} is continued in a new part: ${why}`,
        about: `sink ${sink}: parts continued in new ones`,
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
    meaning:
      'A closed part could not be compressed. It stays plain, which is as good to every reader, and is tried again later.',
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
      'The folder holds parts that another store or sink wrote: the store was lost or replaced. They are left alone, new parts stand beside them, and events may stand in both.',
    tell({ sink, parts, why }, voice) {
      voice.report({
        group: sink,
        level: 'warn',
        sink,
        message: `sink ${sink}: leaves ${parts} parts alone that are not its own: ${why}`,
        about: `sink ${sink}: parts of another store`,
        fields: { sink },
        details: { parts, why },
      })
    },
  },
}
