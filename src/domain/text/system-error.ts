import { getSystemErrorMap } from 'node:util'
import { messageOf } from '../failure.ts'

/** Such as `no such file or directory`, by code. */
const meanings = new Map(getSystemErrorMap().values())

const elsewhere = 'choose another path, on a disk that takes files and folders'

/** What to do about a file or folder. */
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'allow this user to use it',
  EPERM: 'allow this user to use it',
  EBUSY: 'end what uses it',
  ETXTBSY: 'end what uses it',
  ENOSPC: 'free space there, or raise the quota',
  EDQUOT: 'free space there, or raise the quota',
  EFBIG: 'raise the limit of file sizes (ulimit -f)',
  EIO: 'check the disk',
  EISDIR: 'name a file',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENFILE: 'raise the limit of open files of this host (fs.file-max)',
  EROFS: 'mount it writable',
  ESTALE: 'mount it again',
}

/** Such as `no such file or directory (ENOENT)`; the message of an error that is not of the system. */
export function systemErrorText(error: unknown): string {
  const code = systemCode(error) ?? ''
  const meaning = meanings.get(code)
  return meaning === undefined ? messageOf(error) : `${meaning} (${code})`
}

/** Such as `ENOENT`; undefined for an error that is not of the system. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export function systemRemedy(error: unknown): string {
  return remedies[systemCode(error) ?? ''] ?? elsewhere
}
