import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { imageFlags } from './bench/processes/child.ts'
import { copyContext, filesIn } from './image/image.ts'
import { projectFolder } from './setup/project-folder.ts'
import { startNode } from './setup/processes.ts'
import { runCommand } from './setup/run-command.ts'
import { temporaryFolder } from './setup/temp.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly overrides: Readonly<Record<string, string>>
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(projectFolder, path), 'utf8'))
const manifest = readJson('package.json') as Manifest

// npm is whatever the machine has; the Node that it starts is the one that runs the tests.
const env = { PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` }

interface LockedPackage extends Partial<Pick<Manifest, 'version' | 'dependencies' | 'devDependencies'>> {
  readonly integrity?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

test('the lock file has no holes: npm leaves out binaries for other platforms that its registry did not have', () => {
  const { packages } = readJson('package-lock.json') as { packages: Record<string, LockedPackage> }
  /** Where Node looks for a package, seen from another one: its own folder first, then upwards. */
  const isThere = (place: string, name: string): boolean =>
    Object.hasOwn(packages, `${place === '' ? '' : `${place}/`}node_modules/${name}`) ||
    (place !== '' && isThere(place.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, ''), name))
  const holes = Object.entries(packages).flatMap(([place, entry]) => {
    const named = { ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies }
    const missing = Object.keys(named).filter((name) => !isThere(place, name))
    return place === '' || entry.integrity !== undefined ? missing : [...missing, `${place}: no integrity`]
  })
  expect(holes).toEqual([])
})

/** What the pages tell people to create in a checkout, with secrets in it. */
const secret = [
  'access-key',
  'shieldlog.yaml',
  'ndjson-authorization.secret',
  'config/kubernetes/access-key',
  'config/kubernetes/siem-token',
  'var/compose/redis-password',
  'sim.yaml',
]

/** A folder with one file of the checkout, and empty files at these paths. */
function folderWith(file: string, paths: readonly string[]): string {
  const folder = temporaryFolder()
  cpSync(join(projectFolder, file), join(folder, file))
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), '')
  }
  return folder
}

test('the build of the image gets no file with a secret, wherever people put it', () => {
  const needed = ['config/build.ts', 'package.json', 'src/cli.ts']
  const to = temporaryFolder()
  copyContext(folderWith('.dockerignore', [...secret, ...needed]), to)
  expect(filesIn(to)).toEqual(needed)
})

test('git ignores what the pages tell people to create with secrets in it', async () => {
  const shared = ['config/kubernetes/shieldlog.yaml', 'config/systemd/shieldlog.service']
  const cwd = folderWith('.gitignore', [...secret, ...shared])
  await runCommand('git', ['init', '--quiet', cwd])
  const { stdout } = await runCommand('git', ['status', '--porcelain', '--untracked-files=all'], { cwd })
  expect(stdout.trim().split('\n').toSorted()).toEqual(
    ['.gitignore', ...shared].map((path) => `?? ${path}`).toSorted(),
  )
})

test('pins exact versions', () => {
  const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.overrides }
  const loose = Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
  expect(loose, 'write the version that was tried, without ^ or ~').toEqual([])
})

test('scripts that start the program replace their shell with it, and bound its memory like the image', () => {
  // Without exec a SIGTERM to npm ends npm's shell and leaves the program running.
  const starting = Object.values(manifest.scripts).filter((script) => script.includes('src/cli.ts'))
  expect(starting.length).toBeGreaterThan(0)
  const start = `exec node ${imageFlags.join(' ')} src/cli.ts`
  expect(starting.filter((script) => !script.startsWith(start))).toEqual([])
})

const isKey = /access-key|siem-token/

describe('the published package', () => {
  let packed: string[] = []
  let prefix = ''
  let installed = ''
  let archive = ''
  const checkout = copyOfCheckout()

  beforeAll(async () => {
    const folder = temporaryFolder()
    // What the pages tell people to create there.
    for (const secret of ['access-key', 'siem-token'])
      writeFileSync(join(checkout, 'config/kubernetes', secret), 'a secret\n')
    await runCommand('npm', ['pack', '--pack-destination', folder], { cwd: checkout, env })
    prefix = temporaryFolder()
    archive = join(folder, `${manifest.name}-${manifest.version}.tgz`)
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--no-update-notifier']
    await runCommand('npm', ['install', '--global', '--prefix', prefix, ...options, archive], { env })
    installed = join(prefix, 'lib/node_modules', manifest.name)
    packed = filesIn(installed).filter((path) => !path.startsWith('node_modules/'))
  })

  test('contains the compiled program, what it reads, and every file of the folders of config/; no key, source or test', () => {
    const filesOf = (folder: string) =>
      filesIn(join(projectFolder, folder)).map((path) => `${folder}/${path}`)
    const read = filesOf('src').filter((path) => !/\.(?:ts|md)$|tsconfig\.json$/.test(path))
    const config = filesOf('config').filter((path) => /^config\/.*\//.test(path) && !isKey.test(path))
    expect(config.length).toBeGreaterThan(40)
    const own = ['package.json', 'LICENSE', 'README.md', 'docs/README.md', 'dist/cli.js']
    const wanted = [...own, ...config, ...read.map((path) => path.replace(/^src/, 'dist'))]
    expect(wanted.filter((path) => !packed.includes(path))).toEqual([])
    const isForeign = (path: string) =>
      !/^(?:dist|docs|config\/[^/]+)\/|^[^/]+$/.test(path) ||
      /(?<!\.d)\.ts$|\.test\.|^dist\/test\//.test(path) ||
      isKey.test(path)
    expect(packed.filter(isForeign)).toEqual([])
  })

  test('is accepted by npm for publication', async () => {
    const { stdout } = await runCommand('npm', ['publish', '--dry-run', '--offline', archive], { env })
    expect(stdout.trim()).toBe(`+ ${manifest.name}@${manifest.version}`)
  })

  test('needs no other package, and has the licences of those in its bundle', () => {
    const { dependencies, ...rest } = manifest
    expect(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))).toEqual(rest)
    expect(readFileSync(join(checkout, 'package.json'), 'utf8')).toBe(
      readFileSync(join(projectFolder, 'package.json'), 'utf8'),
    )
    const licences = readFileSync(join(installed, 'dist/licences.txt'), 'utf8')
    const named = Object.entries(dependencies).map((each) => each.join(' '))
    expect(named.filter((name) => !licences.includes(`${name}\n`))).toEqual([])
  })

  test('starts by its name from where it was installed, and ships events of the demo', async () => {
    const command = join(prefix, 'bin/shieldlog')
    const started = (...args: string[]) => runCommand(command, args, { cwd: temporaryFolder(), env })
    expect((await started('--version')).stdout.trim()).toBe(manifest.version)
    expect((await started('help', 'status')).stdout).toContain('Usage: shieldlog status')
    const example = join(installed, 'config/examples/file.yaml')
    const checked = await runCommand(command, ['check', '--offline', '-c', example], {
      cwd: temporaryFolder(),
      env: { ...env, SHIELDLOG_API_ACCESS_KEY: 'the-key-of-the-test' },
    })
    expect(checked.stdout).toMatch(/^configuration +ok/)
    expect((await started('demo', '--seconds', '5')).stderr).toMatch(/shipped [1-9]\d* events/)
    // As an older Node does, which reads the compiled file.
    const older = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.19.0' })`
    const child = startNode(['--import', older, join(installed, 'dist/cli.js'), 'run'])
    expect(await child.exited).toMatchObject({ code: 1 })
    expect(child.stderr()).toMatch(/^shieldlog needs Node 24 or later; this is Node 20\.19\.0\. Install it/)
  })
})

/** Packing builds: in a copy, so that the checkout keeps its own dist/ and other tests see no half-built one. */
function copyOfCheckout(): string {
  const folder = join(temporaryFolder(), 'checkout')
  mkdirSync(folder)
  for (const path of 'package.json package-lock.json tsconfig.json README.md LICENSE src config docs'.split(
    ' ',
  ))
    cpSync(join(projectFolder, path), join(folder, path), { recursive: true })
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  return folder
}
