import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runCommand } from '../setup/run-command.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { openWorkshop } from './workshop.ts'

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

async function scriptOf(shell: string): Promise<string> {
  const { code, stdout, stderr } = await openWorkshop().execute('completion', shell)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

describe('bash, loaded by the real shell', () => {
  async function completed(...words: string[]): Promise<string[]> {
    const file = join(temporaryFolder(), 'completion.bash')
    writeFileSync(file, await scriptOf('bash'))
    const ask = `source ${file}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shieldlog; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = await runCommand('bash', ['-uc', ask, 'bash', 'ignored', 'shieldlog', ...words])
    return stdout.split('\n').filter(Boolean)
  }

  test('completes commands', async () => {
    expect(await completed('de')).toEqual(['demo', 'dead-letters'])
    expect(await completed('')).toEqual(expect.arrayContaining(['run', 'audit', 'help', '--version', '-c']))
  })

  test('completes commands of a command, after its options too', async () => {
    expect(await completed('dead-letters', 'l')).toEqual(['list'])
    expect(await completed('config', '-c', 'x.yaml', 'pr')).toEqual(['print'])
  })

  test('completes options and choices of the command that was typed', async () => {
    expect(await completed('fetch', '--fo')).toEqual(['--format'])
    expect(await completed('run', '--fo')).toEqual([])
    expect(await completed('run', '--role', 'w')).toEqual(['worker'])
    expect(await completed('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']))
  })

  test('leaves a value without choices to file names', async () => {
    expect(await completed('run', '--config', '')).toEqual([])
  })
})

test('zsh loads its script, where it is installed', async () => {
  const script = await scriptOf('zsh')
  expect(script).toContain(`'list:list refused events`)
  expect(script).toContain(`compadd -- all scheduler worker`)
  if (!isInstalled('zsh')) return
  const file = join(temporaryFolder(), '_shieldlog')
  writeFileSync(file, script)
  const ask = `autoload -U compinit && compinit -D -u; source ${file} && print -- $_comps[shieldlog]`
  expect((await runCommand('zsh', ['-fc', ask])).stdout.trim()).toBe('_shieldlog')
})

test('fish completes with its script, where it is installed', async () => {
  const script = await scriptOf('fish')
  expect(script).toContain(`--long-option role --require-parameter --arguments 'all scheduler worker'`)
  if (!isInstalled('fish')) return
  const file = join(temporaryFolder(), 'shieldlog.fish')
  writeFileSync(file, script)
  const ask = (line: string) => runCommand('fish', ['-Nc', `source ${file}; complete -C '${line}'`])
  expect((await ask('shieldlog dead-letters l')).stdout).toMatch(/^list\t/)
  expect((await ask('shieldlog run --role ')).stdout.split('\n')).toEqual(['all', 'scheduler', 'worker', ''])
})

test('an unknown shell is refused with those that there are', async () => {
  const { code, stderr } = await openWorkshop().execute('completion', 'powershell')
  expect(code).toBe(2)
  expect(stderr).toMatch(/'powershell' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish/)
})
