import { Failure, messageOf, type FailureKind } from '../../domain/failure.ts'
import { resultCodeOf } from '../../sqlite/exclusive-lock.ts'

type Answer = readonly [kind: FailureKind, remedy: string]

const locked: Answer = ['retry', 'another process kept it locked']
const denied: Answer = [
  'stop',
  'make the file, its folder and its -wal and -shm files writable for this process',
]

/** By the primary result code of SQLite. */
const answers: Readonly<Record<number, Answer>> = {
  3: denied,
  5: locked,
  6: locked,
  7: ['retry', 'the process is out of memory'],
  8: denied,
  9: ['retry', 'the call was interrupted'],
  10: ['retry', 'check the disk'],
  11: ['stop', 'stop every shieldlog process, then restore it from a backup or move it away'],
  13: ['stop', 'free space on its disk'],
  14: denied,
  15: locked,
  22: ['stop', 'move it to a file system that allows files of this size'],
  23: denied,
  26: ['stop', 'set `state` to another path, or move this file away'],
}

/** True when another connection holds a lock that this one needs. */
export function isBusy(error: unknown): boolean {
  return answers[resultCodeOf(error) ?? 0] === locked
}

/** Converts an error of SQLite to a Failure. Returns any other value unchanged: a Failure already, or a bug. */
export function storeFailure(error: unknown, path: string): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE')
    return new Failure('retry', 'store_unavailable', `the store ${path} is closed`, { cause: error })
  const answer = answers[resultCodeOf(error) ?? 0]
  if (answer === undefined) return error
  const [kind, remedy] = answer
  const text = `the store ${path} failed (${messageOf(error)}): ${remedy}`
  return new Failure(kind, kind === 'stop' ? 'store_refuses' : 'store_unavailable', text, { cause: error })
}
