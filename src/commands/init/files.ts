import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { Failure } from '../../domain/failure.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/printable.ts'

export interface NewFile {
  readonly path: string
  readonly text: string
}

/** Throws Failure where one of the files exists. */
export function refuseExisting(paths: readonly string[], remedy: string): void {
  const existing = paths.find((path) => existsSync(path))
  if (existing === undefined) return
  throw new Failure(
    'stop',
    'unwritable',
    `${printable(existing)} exists, and init overwrites nothing. ${remedy}`,
  )
}

/** Writes all files, readable by their owner only, or none of them. Throws Failure. */
export function writeNewFiles(files: readonly NewFile[]): void {
  const written: string[] = []
  let current = ''
  try {
    for (const { path, text } of files) {
      current = path
      const file = openSync(path, 'wx', 0o600)
      written.push(path)
      try {
        writeSync(file, text)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
    }
  } catch (cause) {
    for (const path of written) rmSync(path, { force: true })
    const why = `${printable(current)} cannot be written: ${systemErrorText(cause)}. Name another place with --file.`
    throw new Failure('stop', 'unwritable', why, { cause })
  }
}
