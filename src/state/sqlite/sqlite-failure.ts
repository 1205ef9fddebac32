import { Failure, messageOf, type FailureKind } from '../../domain/failure.ts'
import { resultCodeOf } from '../../sqlite/exclusive-lock.ts'

/** Primary result codes of SQLite. */
const codes = {
  3: { name: 'PERM', kind: 'stop', remedy: 'allow this process to write it' },
  5: { name: 'BUSY', kind: 'retry', remedy: 'another process kept it locked' },
  6: { name: 'LOCKED', kind: 'retry', remedy: 'another connection kept it locked' },
  7: { name: 'NOMEM', kind: 'retry', remedy: 'the process is out of memory' },
  8: {
    name: 'READONLY',
    kind: 'stop',
    remedy: 'make the file, its folder and its -wal and -shm files writable',
  },
  9: { name: 'INTERRUPT', kind: 'retry', remedy: 'the call was interrupted' },
  10: { name: 'IOERR', kind: 'retry', remedy: 'check the disk' },
  11: {
    name: 'CORRUPT',
    kind: 'stop',
    remedy: 'stop every shieldlog process, then restore it from a backup or move it away',
  },
  13: { name: 'FULL', kind: 'stop', remedy: 'free space on its disk' },
  14: {
    name: 'CANTOPEN',
    kind: 'stop',
    remedy: 'make sure that the file and its folder exist and are writable',
  },
  15: { name: 'PROTOCOL', kind: 'retry', remedy: 'another process kept it locked' },
  22: { name: 'NOLFS', kind: 'stop', remedy: 'move it to a file system that allows files of this size' },
  23: { name: 'AUTH', kind: 'stop', remedy: 'allow this process to write it' },
  26: { name: 'NOTADB', kind: 'stop', remedy: 'set `state` to another path, or move this file away' },
} as const satisfies Record<number, { name: string; kind: FailureKind; remedy: string }>

/** True when another connection holds a lock that this one needs. */
export function isBusy(error: unknown): boolean {
  const code = resultCodeOf(error)
  return code === 5 || code === 6 || code === 15
}

/** Converts an error of SQLite to a Failure. Returns any other value unchanged: a Failure already, or a bug. */
export function storeFailure(error: unknown, path: string): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE')
    return new Failure('retry', 'store_unavailable', `the store ${path} is closed`, { cause: error })
  const code = resultCodeOf(error)
  if (code === undefined || !(code in codes)) return error
  const { name, kind, remedy } = codes[code as keyof typeof codes]
  const text = `the store ${path} failed with ${name} (${messageOf(error)}): ${remedy}`
  return new Failure(kind, kind === 'stop' ? 'store_refuses' : 'store_unavailable', text, { cause: error })
}
