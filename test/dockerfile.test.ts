import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  buildStage,
  copyContext,
  filesIn,
  type BuiltStage,
  routesOf,
  parseDockerfile,
  wordsOf,
} from './image/image.ts'
import { startNode } from './setup/processes.ts'
import { runCommand } from './setup/run-command.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'
import { tracingImage } from './telemetry/real-sdk.ts'

const manifest = JSON.parse(readFileSync(`${projectFolder}package.json`, 'utf8')) as {
  version: string
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}
const stages = parseDockerfile(readFileSync(`${projectFolder}Dockerfile`, 'utf8'))
const last = stages.at(-1)
const nodeFlags = [
  '--min-semi-space-size=4',
  '--max-semi-space-size=4',
  '--heap-growing-percent=90',
  '--liftoff-only',
]

/** What the last instruction of this name says in the final stage. */
function saidLast(name: string): string {
  return last?.instructions.findLast((each) => each.name === name)?.text ?? ''
}

const image = `node:${manifest.devDependencies['node']}-slim`

test.each([
  ['the official slim Node of the tests, in both stages', stages.map((stage) => stage.image), [image, image]],
  ['the command', wordsOf(saidLast('ENTRYPOINT')), ['node', ...nodeFlags, '/app/src/cli.ts']],
  ['what it does by default', wordsOf(saidLast('CMD')), ['run']],
  ['its health check', saidLast('HEALTHCHECK'), 'CMD ["shieldlog", "health"]'],
  ['its user', saidLast('USER'), '1000:1000'],
  ['the signal that stops it', saidLast('STOPSIGNAL'), 'SIGTERM'],
  ['its only writable folder', saidLast('VOLUME'), '/var/lib/shieldlog'],
  ['where relative paths and the default state start', saidLast('WORKDIR'), '/var/lib/shieldlog'],
  [
    'its settings',
    routesOf(saidLast('ENV')),
    { NODE_ENV: 'production', MALLOC_ARENA_MAX: '1', SHIELDLOG_SERVER_HOST: '::' },
  ],
])('the image says %s', (_, said, expected) => {
  expect(said).toEqual(expected)
})

test('a volume takes owner and mode from the folder that the image has at its place', () => {
  const made = 'RUN install -d -o 1000 -g 1000 -m 0750 /var/lib/shieldlog'
  const lines = last?.instructions.map(({ name, text }) => `${name} ${text}`) ?? []
  const places = [made, 'VOLUME /var/lib', 'USER 1000'].map((each) =>
    lines.findIndex((line) => line.startsWith(each.slice(0, 4)) && line.includes(each.replace(/^\S+ /, ''))),
  )
  // Later changes of the folder are thrown away.
  expect(places[0]).toBeGreaterThan(-1)
  expect(places).toEqual(places.toSorted((one, other) => one - other))
})

test('nothing in it only one engine understands, and nothing depends on the build machine', () => {
  const flags = stages.flatMap((stage) => stage.instructions.flatMap((each) => Object.keys(each.flags)))
  expect(new Set(flags)).toEqual(new Set(['from', 'interval', 'timeout', 'start-period', 'retries']))
  expect(stages.map((stage) => stage.image).join(' ')).not.toMatch(/amd64|arm64|--platform/)
})

describe('the image, built step by step', () => {
  let built: BuiltStage

  beforeAll(async () => {
    const context = temporaryFolder()
    copyContext(projectFolder, context)
    closeToOthers(context)
    const before = new Map<string, BuiltStage>()
    for (const stage of stages) {
      const root = temporaryFolder()
      // The official image brings it.
      mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
      built = await buildStage(stage, root, context, before)
      before.set(stage.name ?? '', built)
    }
  })

  test('contains the bundled program, under the name of its source, and its dependencies; nothing else of the checkout', () => {
    const app = join(built.root, 'app')
    const own = ['LICENSE', 'dist', 'node_modules', 'package.json', 'sbom.spdx.json', 'src']
    expect(readdirSync(app).toSorted()).toEqual(own)
    expect(readdirSync(join(app, 'src'))).toEqual(['cli.ts'])
    expect(realpathSync(join(app, 'src/cli.ts'))).toBe(realpathSync(join(app, 'dist/cli.js')))
    const isThere = (name: string): boolean => existsSync(join(app, 'node_modules', name))
    expect(Object.keys(manifest.dependencies).filter((name) => !isThere(name))).toEqual([])
    expect(['node', 'typescript', 'vitest', 'oxlint', '.bin/node'].filter(isThere)).toEqual([])
  })

  test('contains a list of its packages (SPDX): itself, all that are installed, and none for development', () => {
    type Packages = Record<string, { version: string; dev?: true }>
    const packagesIn = (path: string): Packages =>
      (JSON.parse(readFileSync(path, 'utf8')) as { packages: Packages }).packages
    const named = (packages: Packages) =>
      Object.entries(packages).map(
        ([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`,
      )
    const bill = readFileSync(join(built.root, 'app/sbom.spdx.json'), 'utf8')
    const listed = (JSON.parse(bill) as { packages: { name: string; versionInfo: string }[] }).packages.map(
      ({ name, versionInfo }) => `${name}@${versionInfo}`,
    )
    expect(listed).toContain(`shieldlog@${manifest.version}`)
    const installed = named(packagesIn(join(built.root, 'app/node_modules/.package-lock.json')))
    expect(installed.length).toBeGreaterThan(20)
    expect(installed.filter((each) => !listed.includes(each))).toEqual([])
    // Those of other platforms stand in the lock file, too.
    const locked = Object.entries(packagesIn(join(projectFolder, 'package-lock.json')))
    const forAll = named(Object.fromEntries(locked.filter(([path, { dev }]) => path !== '' && dev !== true)))
    expect(listed.filter((each) => !forAll.includes(each))).toEqual([`shieldlog@${manifest.version}`])
  })

  test('can be read by its user, who owns the writable folder', () => {
    const app = join(built.root, 'app')
    const closed = filesIn(app).filter((path) => (statSync(join(app, path)).mode & 0o004) === 0)
    expect(closed).toEqual([])
    const written = statSync(join(built.root, 'var/lib/shieldlog'))
    expect(written.mode & 0o777).toBe(0o750)
    // Only root can give a folder away.
    if (process.getuid?.() === 0) expect([written.uid, written.gid]).toEqual([1000, 1000])
  })

  test('starts by its command, and writes nothing to its installation folder', async () => {
    const { stdout } = await runCommand(join(built.root, 'usr/local/bin/shieldlog'), ['--version'], {
      env: { PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` },
    })
    const before = stampsIn(join(built.root, 'app'))
    const script = wordsOf(saidLast('ENTRYPOINT'))?.at(-1) ?? ''
    const child = startNode([...nodeFlags, join(built.root, script), '--version'], {
      cwd: join(built.root, built.workdir),
      env: built.env,
    })
    expect(await child.exited, child.stderr()).toEqual({ code: 0, signal: null })
    expect([stdout.trim(), child.stdout().trim()]).toEqual([manifest.version, manifest.version])
    expect(stampsIn(join(built.root, 'app'))).toEqual(before)
  })
})

test('the image for traces that the docs derive has three instructions, with the versions that the tests load', () => {
  const stage = tracingImage()
  expect([stage.image, ...stage.instructions.map(({ name }) => name)]).toEqual(['shieldlog', 'RUN', 'ENV'])
  const { text } = stage.instructions[0]!
  // Where the module that RUN writes finds them. That it sends spans: test/e2e/otlp.test.ts.
  expect(text).toMatch(/^npm install --prefix (\S+) .* > \1\/start\.mjs$/s)
  const isOfTracing = ([name]: readonly [string, string]) => name.startsWith('@opentelemetry/')
  const named = [...text.matchAll(/ (@opentelemetry\/[\w-]+)@(\S+)/g)].map(([, ...each]) => each)
  const tried = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(isOfTracing)
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(tried))
  // The image itself stays without an SDK.
  const own = Object.entries(manifest.dependencies).filter(isOfTracing)
  expect(own.map(([name]) => name)).toEqual(['@opentelemetry/api'])
})

/** As a checkout made under umask 077 is. */
function closeToOthers(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  }
}

function stampsIn(folder: string): string[] {
  return filesIn(folder).map((path) => `${path} ${statSync(join(folder, path)).mtimeMs}`)
}
