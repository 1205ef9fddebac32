import { messageOf } from '../failure.ts'

const elsewhere = 'choose another path, on a disk that takes files and folders'
const allow = 'allow this user to use it'
const noSpace = 'free space there, or raise the quota'

/** What the codes of the system mean for a file or folder, and what to do. */
const meanings: Readonly<Record<string, readonly [meaning: string, remedy: string]>> = {
  EACCES: ['permission denied', allow],
  EBUSY: ['it is in use', 'end what uses it'],
  EDQUOT: ['the quota is used up', noSpace],
  EEXIST: ['it exists already', elsewhere],
  EFBIG: ['it would be too large', 'raise the limit of file sizes (ulimit -f)'],
  EINVAL: ['the file system does not support this', elsewhere],
  EIO: ['the disk failed', 'check the disk'],
  EISDIR: ['it is a folder', 'name a file'],
  ELOOP: ['too many symbolic links', 'name a path without links'],
  EMFILE: ['too many open files', 'raise the limit of open files (ulimit -n)'],
  ENAMETOOLONG: ['the name is too long', 'choose a shorter path'],
  ENFILE: ['too many open files on this host', 'raise its limit (fs.file-max)'],
  ENODEV: ['there is no such device', elsewhere],
  ENOENT: ['no such file or directory', elsewhere],
  ENOSPC: ['no space is left', noSpace],
  ENOTDIR: ['a part of that path is a file', elsewhere],
  ENOTEMPTY: ['the folder is not empty', elsewhere],
  ENOTSUP: ['the file system does not support this', elsewhere],
  ENXIO: ['there is no such device', elsewhere],
  EPERM: ['it is not permitted', allow],
  EROFS: ['the file system is read-only', 'mount it writable'],
  ESTALE: ['the network share has changed', 'mount it again'],
  ETXTBSY: ['it is in use', 'end what uses it'],
}

/** Such as `no such file or directory (ENOENT)`; the message of an error that is not of the system. */
export function systemErrorText(error: unknown): string {
  const code = systemCode(error)
  if (code === undefined) return messageOf(error)
  const meaning = meanings[code]?.[0]
  return meaning === undefined ? code : `${meaning} (${code})`
}

/** Such as `ENOENT`; undefined for an error that is not of the system. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** What to do about an error of a file or folder. */
export function systemRemedy(error: unknown): string {
  return meanings[systemCode(error) ?? '']?.[1] ?? elsewhere
}
