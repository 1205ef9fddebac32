import { execFileSync } from 'node:child_process'
import { own } from './leftovers.ts'
import { temporaryFolder } from './temp.ts'

/**
 * An empty disk of so many megabytes, and for so many files (also that of its root), until the test ends; undefined where
 * this user may not mount one.
 */
export function smallDisk(megabytes: number, files = 0): string | undefined {
  const folder = temporaryFolder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,nr_inodes=${files}`, 'tmpfs', folder], {
      stdio: 'ignore',
    })
  } catch {
    return undefined
  }
  own({
    what: `the disk at ${folder}`,
    isLeft: () => true,
    // What is still open there does not keep it.
    remove: async () => void execFileSync('umount', ['--lazy', folder]),
    isFault: false,
  })
  return folder
}
