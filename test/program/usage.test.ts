import type { Command } from 'commander'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/program/program.ts'
import { version } from '../../src/assemble/version.ts'
import { startCli } from '../setup/processes.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { openWorkshop } from '../tasks/workshop.ts'

const table: readonly (readonly [args: string, firstLine: RegExp])[] = [
  ['nope', /^error: unknown command 'nope'/],
  ['run --twice', /^error: unknown option '--twice'/],
  ['run --role boss', /^error: option '--role <role>' argument 'boss' is invalid. Allowed choices are all/],
  ['check spare', /^error: too many arguments/],
  ['fetch --zone 101', /^error: required option '--day <day>' not specified/],
  ['fetch --zone 101 --day today --limit 0', /at least 1/],
  ['fetch --zone 101 --day today --format exel', /'exel' is invalid. Allowed choices are native/],
  [
    'fetch --zone shpo --day today',
    /^error: --zone shpo is not configured; did you mean shop\?; available: 101 \(shop\), 102$/,
  ],
  [
    'gaps list --zone 500101',
    /^error: --zone 500101 .*; available: .*; the id of a pull zone is another one: shieldlog zones lists both$/,
  ],
  ['audit --sink arkive', /^error: --sink arkive is not configured; did you mean archive\?/],
  ['state rename-sink archive', /^error: missing required argument 'new'/],
  [
    'state rename-sink archive A/b',
    /'A\/b' is invalid for argument 'new'. use at most 63 lower-case letters/,
  ],
  ['state rename-sink archive archive', /^error: the present name and the new name are both archive; use/],
  ['rate-limit update 1 --file gone', /^error: --file gone cannot be read: no such file or directory/],
  ['rate-limit update 2147483648 --file x', /the id of a rule is at most 2147483647/],
]

/** What the parser needs of a process. */
const silent = { stdout: { write: () => undefined }, stderr: { write: () => undefined } }

test('reports wrong usage in its first line', async () => {
  const workshop = openWorkshop()
  for (const [args, firstLine] of table) {
    const ended = await workshop.execute(...args.split(' '))
    expect(ended.stderr.split('\n')[0], args).toMatch(firstLine)
    expect([args, ended.code, ended.stdout]).toEqual([args, 2, ''])
  }
})

test('prints its version, and help with an example', async () => {
  const workshop = openWorkshop()
  expect(await workshop.run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  const help = await workshop.execute('help', 'run')
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toMatch(/^Usage: shieldlog run .*Example:\n {2}SHIELDLOG_/s)
  expect(await workshop.execute('run', '-h')).toEqual(help)
  const nothing = await workshop.run()
  expect(nothing).toMatchObject({ code: 2, stdout: '' })
  expect(nothing.stderr).toMatch(/^ships Bunny Shield \(bunny\.net\) WAF event logs to your SIEM;\n/)
  expect(nothing.stderr).toMatch(/^Usage: \S+/m)
})

test('loads the files of the commands that are named only', async () => {
  const loaded = async (...argv: string[]) =>
    (await createProgram(silent as never, () => undefined, argv)).commands
      // Of the others it has only the names: `-c` is their one option.
      .filter(({ options, commands }) => options.length > 1 || commands.length > 0)
      .map((command) => command.name())
  expect(await loaded('-c', 'x.yaml', 'status', '--json')).toEqual(['status'])
  expect(await loaded('--version')).toEqual([])
  expect(await loaded('--help')).toEqual([])
})

test('has one line and an example for every command', async () => {
  const program = await createProgram(silent as never, () => undefined)
  const commands = everyCommand(program.commands)
  expect(commands.length).toBeGreaterThan(15)
  for (const command of commands) {
    expect(command.description(), command.name()).toMatch(/^[^\n]{10,80}$/)
    let text = ''
    command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
    if (command.commands.length === 0) expect(text, command.name()).toContain('\nExample:\n  ')
  }
})

function everyCommand(commands: readonly Command[]): Command[] {
  return commands.flatMap((command) => [command, ...everyCommand(command.commands)])
}

test('takes -c before and after the command, also of a command in a command', async () => {
  const workshop = openWorkshop()
  mkdirSync(join(workshop.folder, 'other'))
  const file = join('other', 'other.yaml')
  const config = { api: { accessKey: 'x' }, zones: [{ id: 5, name: 'five' }], state: 'sqlite:other/s.db' }
  writeFileSync(join(workshop.folder, file), JSON.stringify(config))
  const commands = [
    ['-c', file, 'check', '--offline'],
    ['check', '--offline', '--config', file],
    ['-c', file, 'config', 'print'],
    ['config', 'print', '-c', file],
  ]
  const ended = await Promise.all(commands.map((args) => workshop.run(...args)))
  for (const [index, { code, stdout }] of ended.entries()) {
    expect(code).toBe(0)
    expect(stdout, commands[index]?.join(' ')).toContain(index < 2 ? 'other.yaml; 1 zone, 1 sink' : 'five')
  }
})

test('without a configuration file, the places that were searched and init are named', async () => {
  const folder = temporaryFolder()
  const child = startCli(['run'], { cwd: folder, env: { SHIELDLOG_CONFIG: undefined } })
  expect((await child.exited).code).toBe(78)
  expect(child.stderr()).toMatch(
    new RegExp(
      `^no configuration file was found: looked for ${folder}/shieldlog.yaml and /etc/shieldlog/shieldlog.yaml\n` +
        `the configuration has 2 errors:\n[^]*\nto write a configuration file: .*init\nto try it `,
    ),
  )
})
