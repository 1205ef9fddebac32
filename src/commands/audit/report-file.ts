import { accessSync, closeSync, constants, existsSync, fchmodSync, openSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import { printable } from '../../domain/text/printable.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { UsageError } from '../registration.ts'

const mode = 0o600

/** Throws UsageError where a report could not be written: an audit may take long before it is. */
export function checkReportFile(path: string): void {
  const named = `--report ${printable(path)}`
  if (existsSync(path)) throw new UsageError(`${named}: the file exists; remove it, or name another file`)
  try {
    accessSync(dirname(path), constants.W_OK)
  } catch (error) {
    throw new UsageError(
      `${named}: ${printable(dirname(path))} ${isMissing(error) ? 'does not exist' : 'is not writable'}; name a file in a folder that you can write to`,
    )
  }
}

/** Readable by its owner only, whatever the umask. Throws Failure, also where the file was made meanwhile. */
export function writeReportFile(path: string, html: string): void {
  try {
    const file = openSync(path, 'wx', mode)
    try {
      fchmodSync(file, mode)
      writeFileSync(file, html)
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    const why = `the report cannot be written to ${printable(path)}: ${systemErrorText(cause)}. Audit again with another --report.`
    throw new Failure('stop', 'unwritable', why, { cause })
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
