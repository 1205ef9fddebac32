import { expect, test } from 'vitest'
import { syncFolder } from '../src/disk.ts'
import { temporaryFolder } from './setup/temp.ts'

test('a folder on a file system that refuses to sync folders is no error; a missing one is', async () => {
  await syncFolder(temporaryFolder())
  // As some network file systems do.
  await syncFolder('/proc/self')
  await expect(syncFolder('/nowhere')).rejects.toThrow('ENOENT')
})
