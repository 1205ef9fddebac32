import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startNode } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { temporaryFolder } from '../setup/temp.ts'

/** A checkout of its own, since the cache of this one is shared with every other test. */
function checkout(): string {
  const folder = temporaryFolder()
  cpSync(join(projectFolder, 'src'), join(folder, 'src'), { recursive: true })
  cpSync(join(projectFolder, 'package.json'), join(folder, 'package.json'))
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(join(projectFolder, 'node_modules'))) {
    if (name.startsWith('.')) continue
    symlinkSync(join(projectFolder, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return folder
}

it('keeps what Node compiled, also of a process that is killed', async () => {
  const folder = checkout()
  const kept = async () => {
    const child = startNode([join(folder, 'src/cli.ts'), 'simulate'], {
      env: { NODE_COMPILE_CACHE: undefined },
    })
    await child.waitForLine(/http:\/\//)
    await child.kill()
    return readdirSync(join(folder, 'node_modules/.cache/shieldlog'), { recursive: true }).length
  }
  const many = await kept()
  expect(many).toBeGreaterThan(50)
  expect(await kept()).toBe(many)
})
