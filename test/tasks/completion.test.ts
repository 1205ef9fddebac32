import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programFile } from '../setup/program/program-file.ts'
import { runCommand } from '../setup/run-command.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { openWorkshop } from './workshop.ts'

/** The command that the scripts ask. */
const program = `${process.execPath} ${programFile('cli')}`

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

async function scriptOf(shell: string): Promise<string> {
  const { code, stdout, stderr } = await openWorkshop().execute('completion', shell)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

test.each([
  [['de'], ['demo', 'dead-letters']],
  // Also after the options of the first one.
  [['config', '-c', 'x.yaml', 'pr'], ['print']],
  [['run', '--role', 'w'], ['worker']],
  [['completion', 'b'], ['bash']],
  // File names, as the shell completes them.
  [['run', '--config', ''], []],
])('bash, with the script loaded by the real shell, completes %j with %j', async (words, found) => {
  const file = join(temporaryFolder(), 'completion.bash')
  writeFileSync(file, await scriptOf('bash'))
  const ask = `shieldlog() { ${program} "$@"; }; source ${file}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shieldlog; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await runCommand('bash', ['-uc', ask, 'bash', 'ignored', 'shieldlog', ...words])
  expect(stdout.split('\n').filter(Boolean)).toEqual(found)
})

/** `.ci/run` installs these shells; elsewhere their suites need them to be there. */
test.skipIf(!isInstalled('zsh'))(
  'zsh, with the script loaded on a terminal of its own, completes',
  async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, '_shieldlog'), await scriptOf('zsh'))
    const start = `PS1=; shieldlog() { ${program} "$@" }; autoload -U compinit && compinit -D -u; source ${folder}/_shieldlog; print ready`
    const typed = [
      ['shieldlog dead-l', 'dead-letters'],
      ['shieldlog run --ro', '--role'],
      ['shieldlog run --role sche', 'scheduler'],
    ] as const
    const lines = typed.map(
      ([line, word]) => `zpty -n -w z $'\\C-u${line}\\t'; zpty -r z seen '*${word}*'; print seen ${word}`,
    )
    const begin = `zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z '${start}'; zpty -r z seen '*ready*ready*'`
    // It waits for each word, and is ended where one does not come.
    const { stdout } = await runCommand('timeout', ['60', 'zsh', '-fc', [begin, ...lines].join('; ')])
    expect(stdout.trim().split('\n')).toEqual(typed.map(([, word]) => `seen ${word}`))
  },
)

test.skipIf(!isInstalled('fish')).each([
  ['config -c x.yaml pr', ['print']],
  ['fetch --fo', ['--format']],
  ['run --fo', []],
  ['run --role ', ['all', 'scheduler', 'worker']],
])('fish, with the script loaded by the real shell, completes %s with %j', async (line, found) => {
  const file = join(temporaryFolder(), 'shieldlog.fish')
  writeFileSync(file, await scriptOf('fish'))
  const ask = `function shieldlog; ${program} $argv; end; source ${file}; complete -C 'shieldlog ${line}'`
  const { stdout } = await runCommand('fish', ['-Nc', ask])
  const words = stdout.split('\n').filter(Boolean)
  expect(words.map((each) => each.split('\t')[0]!).toSorted()).toEqual(found)
})

test('zones, sinks and days are completed by name, from the configuration that the words name', async () => {
  const { folder } = openWorkshop({
    zones: [{ id: 101, name: 'shop' }, 102],
    sinks: [{ name: 'archive', type: 'file', path: 'events' }, { type: 'stdout' }],
  })
  const config = join(folder, 'shieldlog.yaml')
  const ask = async (...words: string[]) => {
    const all = [programFile('cli'), 'completion', 'bash', '--', ...words]
    return (await runCommand(process.execPath, all)).stdout.split('\n').filter(Boolean)
  }
  expect(await ask('status', '-c', config, '--zone', '')).toEqual(['shop', '102'])
  expect(await ask('status', '-c', config, '--sink', 'a')).toEqual(['archive'])
  expect(await ask('backfill', '--from', 'y')).toEqual(['yesterday'])
  expect(await ask('status', '-c', join(folder, 'none.yaml'), '--zone', '')).toEqual([])
})
