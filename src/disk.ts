import { constants, existsSync, statfsSync, type StatsFs } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode, systemErrorText, systemRemedy } from './domain/text/system-error.ts'

/** A disk may have space, and room for no further file. Some file systems count none. */
export function lacksInodes({ files, ffree }: Pick<StatsFs, 'files' | 'ffree'>): boolean {
  return files > 0 && ffree === 0
}

/** What the system says of a path, and what to do: where it calls a disk full, the disk tells of what. */
export function diskError(error: unknown, path: string): { readonly text: string; readonly remedy: string } {
  if (systemCode(error) === 'ENOSPC' && hasNoInodes(path)) {
    const remedy = 'remove files there, or make a file system with more inodes (`df -i` counts them)'
    return { text: 'no inodes left (ENOSPC)', remedy }
  }
  return { text: systemErrorText(error), remedy: systemRemedy(error) }
}

function hasNoInodes(path: string): boolean {
  try {
    return lacksInodes(statfsSync(nearest(path)))
  } catch {
    return false
  }
}

/** The path itself, or the closest folder above it that exists. */
export function nearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path))
}

/** Syncs a folder: otherwise a crash of the host may lose a new file name although the file's bytes were synced. */
export async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await handle.sync().catch((error: unknown) => {
    // Some network file systems sync names by themselves and refuse the call.
    if (!['EINVAL', 'ENOTSUP'].includes(systemCode(error) ?? '')) throw error
  })
}
