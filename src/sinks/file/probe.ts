import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rmdir, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import type { SinkCheck } from '../../ports/delivery.ts'
import type { FileSinkSettings } from './config.ts'
import { fileFailure, makeRoot } from './files.ts'

const probeBytes = 4096
/** Less free space than this does not hold one page. */
const leastFreeBytes = 1_048_576
/** Less than this is told: a part of the default size and its compressed copy take a third of it. */
const lowFreeBytes = 1e9

/** Writes a test file and removes it again, with all folders created for it. Throws Failure. */
export async function probe(settings: FileSinkSettings): Promise<SinkCheck> {
  try {
    const { root, made } = await makeRoot(settings.path, settings.dirMode)
    try {
      await probeFile(root, settings.mode)
      return await probeSpace(root)
    } finally {
      // A folder that another process started to use meanwhile is not empty and stays.
      for (const folder of made.reverse()) await rmdir(folder).catch(() => undefined)
    }
  } catch (error) {
    throw await fileFailure(error, settings.path)
  }
}

async function probeFile(root: string, mode: number): Promise<void> {
  const path = join(root, `.shieldlog-check-${randomBytes(5).toString('hex')}`)
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const handle = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode)
  try {
    await handle.writeFile(Buffer.alloc(probeBytes, 0x0a))
    await handle.datasync()
  } finally {
    await handle.close()
    await unlink(path)
  }
}

/** The free space, for people. */
async function probeSpace(root: string): Promise<SinkCheck> {
  const { bavail, blocks, bsize } = await statfs(root)
  // Some file systems report no free space at all.
  if (blocks === 0) return { found: 'writable' }
  const found = `${sizeText(bavail * bsize)} free`
  if (bavail * bsize >= lowFreeBytes) return { found }
  if (bavail * bsize >= leastFreeBytes)
    return {
      found,
      note: 'less than 1 GB is free, and a full disk stops this sink; free space, or give it a larger disk',
    }
  throw new Failure(
    'stop',
    'disk_full',
    `${root} has ${bavail * bsize} bytes left, less than one page needs; free space or raise the quota`,
  )
}

function sizeText(bytes: number): string {
  const gigabytes = bytes / 1e9
  return gigabytes >= 1 ? `${Math.floor(gigabytes)} GB` : `${Math.floor(bytes / 1e6)} MB`
}
