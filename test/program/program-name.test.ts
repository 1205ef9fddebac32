import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { commandLine, programName } from '../../src/terminal/program-name.ts'
import { startCli, startNode } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { temporaryFolder } from '../setup/temp.ts'

test.each([
  ['/usr/local/bin/shieldlog', '', '/home/a', 'shieldlog'],
  ['/usr/lib/node_modules/shieldlog/dist/cli.js', '', '/home/a', 'shieldlog'],
  ['/home/a/shieldlog/src/cli.ts', 'shieldlog', '/home/a/shieldlog', 'npm run -s shieldlog --'],
  ['/home/a/shieldlog/src/cli.ts', 'demo', '/home/a/shieldlog', 'npm run -s shieldlog --'],
  ['/home/a/shieldlog/src/cli.ts', 'test', '/home/a/shieldlog', 'node src/cli.ts'],
  ['/home/a/shieldlog/src/cli.ts', '', '/home/a/shieldlog', 'node src/cli.ts'],
  ['/home/a/shieldlog/src/cli.ts', '', '/srv', 'node /home/a/shieldlog/src/cli.ts'],
])('%s, started by the npm script "%s" in %s, is called %s', (script, npmScript, folder, name) => {
  expect(programName({ script, npmScript, folder, path: '' })).toBe(name)
})

test('the program is called shieldlog where a link of that name on PATH leads to it', () => {
  const folder = temporaryFolder()
  const script = join(projectFolder, 'src/cli.ts')
  symlinkSync(script, join(folder, 'shieldlog'))
  const path = ['/nowhere', folder].join(delimiter)
  expect(programName({ script, npmScript: '', folder: '/srv', path })).toBe('shieldlog')
  expect(programName({ script, npmScript: '', folder: '/srv', path: '/nowhere' })).toBe(`node ${script}`)
})

test.each([
  [undefined, 'shieldlog status'],
  ['sim.yaml', 'shieldlog status -c sim.yaml'],
  ["it's mine.yaml", "shieldlog status -c 'it'\\''s mine.yaml'"],
])('a command to type names the configuration file %s', (file, line) => {
  expect(commandLine('status', file).replace(/^.*? status/, 'shieldlog status')).toBe(line)
})

test('help and hints name the program as it was called', async () => {
  const env = { npm_lifecycle_event: 'shieldlog', SHIELDLOG_API_ACCESS_KEY: undefined }
  const cwd = temporaryFolder()
  const called = async (...args: string[]) => {
    const child = startCli(args, { env, cwd })
    await child.exited
    return child.stdout() + child.stderr()
  }
  expect(await called('check')).toContain('to try it without an account: npm run -s shieldlog -- demo\n')
  const help = await called('help', 'backfill')
  expect(help).toContain('Usage: npm run -s shieldlog -- backfill')
  expect(help).toContain('\n  npm run -s shieldlog -- backfill --from 2026-11-18')
  expect(help).not.toMatch(/^\s*shieldlog /m)
})

/** A checkout in which `npm ci` left `installed`; its `cli.ts` needs nothing else up to what is tried here. */
function checkoutWith(...installed: string[]): string {
  const folder = temporaryFolder()
  cpSync(join(projectFolder, 'src/cli.js'), join(folder, 'src/cli.js'))
  symlinkSync('cli.js', join(folder, 'src/cli.ts'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const path of installed) mkdirSync(join(folder, path), { recursive: true })
  return join(folder, 'src/cli.ts')
}

async function failureOf(args: readonly string[]): Promise<string> {
  const child = startNode([...args, 'run'])
  expect(await child.exited).toMatchObject({ code: 1 })
  return child.stderr()
}

test.each([
  ['before npm ci', [], 'Run npm ci, which installs it for the npm scripts.'],
  [
    'after npm ci',
    ['node_modules/.bin/node'],
    'npm run -s shieldlog -- COMMAND uses the one that npm ci installed.',
  ],
  [
    'without scripts of packages',
    ['node_modules/node'],
    'npm ci installed none, since scripts of packages are off: run npm rebuild node --ignore-scripts=false',
  ],
  [
    'without development packages',
    ['node_modules/zod'],
    'npm ci installed none, since development packages are left out: run npm ci --include=dev',
  ],
])('an older Node names the version and the remedy, in one line: %s', async (_, installed, remedy) => {
  const older = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.19.0' })`
  // Which cannot read TypeScript either.
  const flags = ['--no-strip-types', '--import', older]
  const text = `shieldlog needs Node 24 or later; this is Node 20.19.0. ${remedy}\n`
  expect(await failureOf([...flags, checkoutWith(...installed)])).toBe(text)
})

test('without installed packages the remedy is npm ci, in one line', async () => {
  const place = checkoutWith('src/program')
  writeFileSync(join(dirname(place), 'program/main.ts'), "import 'commander'\n")
  expect(await failureOf([place])).toMatch(/^Cannot find package 'commander' .*: run npm ci, .*\n$/)
})

test.each([
  ['without npm ci', undefined, 'packages are missing: run npm ci --include=dev'],
  [
    'where npm left out parts of a package',
    'throw new Error("Cannot find native binding")',
    'npm ci ran on a Node older than 20.19 and left packages out: run PATH="$PWD/node_modules/.bin:$PATH" npm ci',
  ],
])(
  'the scripts of development name what is missing and the remedy, in one line: %s',
  async (_, module, text) => {
    const folder = dirname(dirname(checkoutWith('config', 'node_modules/rolldown')))
    const place = join(folder, 'config/ready.js')
    cpSync(join(projectFolder, 'config/ready.js'), place)
    const older = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.19.0' })`
    expect(await failureOf(['--import', older, place])).toMatch(
      /^this needs Node 24, and runs on 20\.19\.0: .*\n$/,
    )
    if (module !== undefined) writeFileSync(join(folder, 'node_modules/rolldown/index.js'), module)
    expect(await failureOf([place])).toBe(`${text}\n`)
  },
)
