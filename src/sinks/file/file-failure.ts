import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemErrorText, systemRemedy } from '../../domain/text/system-error.ts'
import { Failure, type FailureCode } from '../../domain/failure.ts'

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** Converts a file system error to a Failure with a one-line message that contains the remedy. */
export async function fileFailure(error: unknown, path: string): Promise<Failure> {
  if (error instanceof Failure) return error
  const stop = (code: FailureCode, message: string) => new Failure('stop', code, message, { cause: error })
  if (hasCode(error, 'ENOSPC', 'EDQUOT'))
    return stop('disk_full', `no space left for ${path}; free space or raise the quota`)
  if (hasCode(error, 'EFBIG')) {
    const remedy = 'lower rotate.maxBytes or raise the file size limit (ulimit -f)'
    return stop('disk_full', `${path} cannot grow further; ${remedy}`)
  }
  if (hasCode(error, 'EROFS'))
    return stop('unwritable', `${path} is on a read-only file system; mount it writable`)
  if (hasCode(error, 'EACCES', 'EPERM')) return stop('unwritable', await refusalOf(path))
  if (hasCode(error, 'ELOOP')) {
    const remedy = 'the file sink does not follow links; remove it'
    return stop('unwritable', `${path} is a symbolic link; ${remedy}`)
  }
  if (hasCode(error, 'ENOTDIR'))
    return stop(
      'unwritable',
      `cannot use ${path}: a part of that path is a file; replace it with a directory`,
    )
  const why = `cannot use ${path}: ${systemErrorText(error)}; ${systemRemedy(error)}`
  return new Failure('retry', 'unwritable', why, { cause: error })
}

async function refusalOf(path: string): Promise<string> {
  const uid = process.getuid?.() ?? -1
  const gid = process.getgid?.() ?? -1
  let nearest = path
  for (;;) {
    try {
      const { mode, uid: owner, gid: group } = await stat(nearest)
      const bits = (mode & 0o7777).toString(8).padStart(4, '0')
      return (
        `cannot write ${path}: ${nearest} belongs to ${owner}:${group} with mode ${bits}, this process runs as uid ${uid}; ` +
        `run chown ${uid}:${gid} ${nearest}, or start shieldlog as uid ${owner}`
      )
    } catch {
      const above = dirname(nearest)
      if (above === nearest) return `cannot write ${path} as uid ${uid}; allow that user to write it`
      nearest = above
    }
  }
}
