import { accessSync, constants, cpSync, readFileSync, symlinkSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { allBlocks } from './docs/pages.ts'
import { startProcess } from './setup/processes.ts'
import { projectFolder } from './setup/project-folder.ts'
import { runCommand } from './setup/run-command.ts'
import { temporaryFolder } from './setup/temp.ts'

const blocks = allBlocks.filter(({ page }) => page === 'README.md').map(({ fence }) => fence.text.trim())
const [install = '', demo = ''] = blocks[0]!.split(' && ')
const script = '.ci/run'

/** What git has, with the packages that the first command of the block has installed in this checkout. */
function freshCheckout(): string {
  const folder = join(temporaryFolder(), 'checkout')
  const made = new Set(['node_modules', '.git', 'dist', 'var', 'coverage'])
  cpSync(projectFolder, folder, {
    recursive: true,
    filter: (path) => !made.has(relative(projectFolder, path)),
  })
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

test('the first block of the README runs as written: the test command has installed as it says, and its demo runs in a fresh checkout, until Ctrl-C', async () => {
  // To install once more takes half a minute of processor time.
  expect(install).toMatch(/^npm ci\b/)
  expect(readFileSync(join(projectFolder, script), 'utf8')).toMatch(RegExp(`=false ${install} \\|\\| die`))
  expect(demo).toBe('npm run demo')
  // Without the Node of this checkout: the packages bring their own.
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((each) => !each.startsWith(projectFolder))
  // `timeout` gives the signal to all of its group, as a terminal does.
  const child = startProcess('timeout', ['--kill-after=30', '280', 'bash', '-c', demo], {
    cwd: freshCheckout(),
    env: { PATH: path.join(delimiter), TMPDIR: temporaryFolder() },
  })
  // As a pipe sees it: on a terminal the same figures stand in a table.
  await child.waitForLine(/ events shipped, lag /)
  await child.kill('SIGINT')
  const output = `${child.stdout()}\n${child.stderr()}`
  expect(output).toMatch(/^verified: \d+ events in the files, none missing, none twice/m)
})

test('the test command stands beside it, and is a script of the repository that can be run as written', async () => {
  expect(blocks.indexOf(`bash ${script}`)).toBe(1)
  accessSync(join(projectFolder, script), constants.X_OK)
  await runCommand('bash', ['-n', join(projectFolder, script)])
  // A run within this run would not end: what is run here is its parts, and what it sets up is compared with their needs.
  const text = readFileSync(join(projectFolder, script), 'utf8')
  for (const part of ['config/vitest.config.ts', 'config/vitest.dates.config.ts'])
    expect(text).toContain(part)
})
