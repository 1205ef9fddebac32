import { getSystemErrorMap } from 'node:util'
import { messageOf } from '../../domain/failure.ts'

/** Such as `no such file or directory (ENOENT)`; the message of an error that is not of the system. */
export function systemErrorText(error: unknown): string {
  const code = systemCode(error)
  if (code === undefined) return messageOf(error)
  const meaning = [...getSystemErrorMap().values()].find(([name]) => name === code)?.[1]
  return meaning === undefined ? code : `${meaning} (${code})`
}

/** Such as `ENOENT`; undefined for an error that is not of the system. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

const noSpace = 'free space there, or raise the quota'
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'allow this user to use it',
  EPERM: 'allow this user to use it',
  EROFS: 'mount it writable',
  ENOSPC: noSpace,
  EDQUOT: noSpace,
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENFILE: 'raise the limit of open files of this host (fs.file-max)',
  ENAMETOOLONG: 'choose a shorter path',
  EISDIR: 'name a file, not a folder',
  ENOTDIR: 'a part of that path is a file: name another path',
  EIO: 'check the disk',
}

/** What to do about an error of a file or folder. */
export function systemRemedy(error: unknown): string {
  return remedies[systemCode(error) ?? ''] ?? 'choose another path, on a disk that takes files and folders'
}
