import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { own } from '../setup/leftovers.ts'
import { temporaryFolder } from '../setup/temp.ts'

/** A real file system that is nearly full until room is made. */
export interface SmallDisk {
  readonly folder: string
  makeRoom(): void
}

/** True where this user may mount a file system. */
export const mayMount = tryMount()

function tryMount(): boolean {
  const folder = join(temporaryFolder(), 'try')
  mkdirSync(folder)
  try {
    mount(folder, 1)
    execFileSync('umount', [folder])
    return true
  } catch {
    return false
  }
}

function mount(folder: string, megabytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' })
}

export function smallDisk(megabytes: number, freeBytes: number): SmallDisk {
  const folder = join(temporaryFolder(), 'disk')
  mkdirSync(folder)
  mount(folder, megabytes)
  own({
    what: `the file system at ${folder}`,
    isLeft: () => true,
    remove: () => Promise.resolve(void execFileSync('umount', ['-l', folder])),
    isFault: false,
  })
  const ballast = join(folder, 'ballast')
  writeFileSync(ballast, Buffer.alloc(megabytes * 1024 * 1024 - freeBytes))
  return { folder, makeRoom: () => rmSync(ballast) }
}
