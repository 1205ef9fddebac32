import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  buildStage,
  copyContext,
  type BuiltStage,
  routesOf,
  parseDockerfile,
  wordsOf,
} from './image/image.ts'
import { serveHttp } from './setup/http-server.ts'
import { startCli, startNode } from './setup/processes.ts'
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
const nodeFlags = ['--max-semi-space-size=1', '--heap-growing-percent=100', '--liftoff-only']

/** What the last instruction of this name says in the final stage. */
function saidLast(name: string): string {
  return last?.instructions.findLast((each) => each.name === name)?.text ?? ''
}

describe('the image says', () => {
  test('the official slim Node of the version that the tests use, in both stages', () => {
    const image = `node:${manifest.devDependencies['node']}-slim`
    expect(stages.map((stage) => stage.image)).toEqual([image, image])
  })

  test('command, user and stop signal', () => {
    expect(wordsOf(saidLast('ENTRYPOINT'))).toEqual(['node', ...nodeFlags, '/app/src/cli.ts'])
    expect(wordsOf(saidLast('CMD'))).toEqual(['run'])
    expect(saidLast('USER')).toBe('1000:1000')
    expect(saidLast('STOPSIGNAL')).toBe('SIGTERM')
  })

  test('one writable folder, where relative paths and the default state start', () => {
    expect(saidLast('VOLUME')).toBe('/var/lib/shieldlog')
    expect(saidLast('WORKDIR')).toBe('/var/lib/shieldlog')
    const env = routesOf(saidLast('ENV'))
    expect(env).toEqual({
      NODE_ENV: 'production',
      MALLOC_ARENA_MAX: '1',
      SHIELDLOG_SERVER_HOST: '0.0.0.0',
    })
    // A volume takes owner and mode from the folder that the image has at its place; later changes are thrown away.
    const order = (name: string, text: string): number =>
      last?.instructions.findIndex((each) => each.name === name && each.text.includes(text)) ?? -1
    expect(order('RUN', 'install -d -o 1000 -g 1000 -m 0750 /var/lib/shieldlog')).toBeGreaterThan(-1)
    expect(order('RUN', 'install -d')).toBeLessThan(order('VOLUME', '/var/lib'))
    expect(order('VOLUME', '/var/lib')).toBeLessThan(order('USER', '1000'))
  })

  test('nothing that only one engine understands, and nothing that depends on the build machine', () => {
    const flags = stages.flatMap((stage) => stage.instructions.flatMap((each) => Object.keys(each.flags)))
    expect(new Set(flags)).toEqual(new Set(['from', 'interval', 'timeout', 'start-period', 'retries']))
    expect(stages.map((stage) => stage.image).join(' ')).not.toMatch(/amd64|arm64|--platform/)
  })
})

describe('the image, built step by step', () => {
  let image: BuiltStage

  beforeAll(async () => {
    const context = temporaryFolder()
    copyContext(projectFolder, context)
    closeToOthers(context)
    const built = new Map<string, BuiltStage>()
    for (const stage of stages) {
      const root = temporaryFolder()
      // The official image brings it.
      mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
      image = await buildStage(stage, root, context, built)
      built.set(stage.name ?? '', image)
    }
  })

  test('contains the bundled program, under the name of its source, and nothing else of the checkout', () => {
    expect(readdirSync(join(image.root, 'app')).toSorted()).toEqual([
      'LICENSE',
      'dist',
      'node_modules',
      'package.json',
      'src',
    ])
    expect(readdirSync(join(image.root, 'app/src'))).toEqual(['cli.ts'])
    expect(realpathSync(join(image.root, 'app/src/cli.ts'))).toBe(
      realpathSync(join(image.root, 'app/dist/cli.js')),
    )
  })

  test('contains every dependency and no development dependency, so no second Node', () => {
    const present = (name: string): boolean => existsSync(join(image.root, 'app/node_modules', name))
    expect(Object.keys(manifest.dependencies).filter((name) => !present(name))).toEqual([])
    expect(['node', 'typescript', 'vitest', 'oxlint', '.bin/node'].filter(present)).toEqual([])
  })

  test('can be read by its user, who owns the writable folder', () => {
    const app = join(image.root, 'app')
    const closed = filesIn(app).filter((path) => (statSync(join(app, path)).mode & 0o004) === 0)
    expect(closed).toEqual([])
    const written = statSync(join(image.root, 'var/lib/shieldlog'))
    expect(written.mode & 0o777).toBe(0o750)
    // Only root can give a folder away.
    if (process.getuid?.() === 0) expect([written.uid, written.gid]).toEqual([1000, 1000])
  })

  test('has the command on its PATH', async () => {
    const { stdout } = await runCommand(join(image.root, 'usr/local/bin/shieldlog'), ['--version'], {
      env: { PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` },
    })
    expect(stdout.trim()).toBe(manifest.version)
  })

  test('starts, and writes nothing to its installation folder', async () => {
    const before = stampsIn(join(image.root, 'app'))
    const script = wordsOf(saidLast('ENTRYPOINT'))?.at(-1) ?? ''
    const child = startNode([...nodeFlags, join(image.root, script), '--version'], {
      cwd: join(image.root, image.workdir),
      env: image.env,
    })
    expect(await child.exited, child.stderr()).toEqual({ code: 0, signal: null })
    expect(child.stdout().trim()).toBe(manifest.version)
    expect(stampsIn(join(image.root, 'app'))).toEqual(before)
  })
})

describe('the image for traces that the docs derive', () => {
  const stage = tracingImage()
  const said = (name: string) => stage.instructions.filter((each) => each.name === name)

  test('is three instructions, with the versions that the tests load', () => {
    expect([stage.image, ...stage.instructions.map(({ name }) => name)]).toEqual(['shieldlog', 'RUN', 'ENV'])
    // Where the module that RUN writes finds them. That it sends spans: test/e2e/otlp.test.ts.
    expect(said('RUN')[0]?.text).toMatch(/^npm install --prefix (\S+) .* > \1\/start\.mjs$/s)
    const named = [...(said('RUN')[0]?.text ?? '').matchAll(/ (@opentelemetry\/[\w-]+)@(\S+)/g)]
    const all = { ...manifest.dependencies, ...manifest.devDependencies }
    const tried = Object.entries(all).filter(([name]) => name.startsWith('@opentelemetry/'))
    expect(Object.fromEntries(named.map(([, name, version]) => [name, version]))).toEqual(
      Object.fromEntries(tried),
    )
    // The image itself stays without an SDK.
    expect(Object.keys(manifest.dependencies).filter((name) => name.startsWith('@opentelemetry/'))).toEqual([
      '@opentelemetry/api',
    ])
  })
})

describe('the health check', () => {
  test('succeeds where /healthz answers 200, and fails with any other status', async () => {
    for (const [status, code] of [
      [200, 0],
      [503, 1],
    ] as const) {
      const { port } = await serveHttp(({ url }, response) =>
        response.writeHead(url === '/healthz' ? status : 404).end(),
      )
      expect(await check({ SHIELDLOG_SERVER_PORT: String(port) })).toBe(code)
    }
  })

  test('requests the host that the server listens on', async () => {
    for (const [host, told] of [
      ['127.0.0.2', '127.0.0.2'],
      ['0.0.0.0', '::'],
    ] as const) {
      const { port } = await serveHttp((_, response) => response.end(), { host })
      const env = { SHIELDLOG_SERVER_HOST: told, SHIELDLOG_SERVER_PORT: String(port) }
      expect(await check(env)).toBe(0)
    }
  })
})

async function check(env: Record<string, string>): Promise<number | null> {
  const [program, ...args] = wordsOf(saidLast('HEALTHCHECK').replace(/^CMD\s+/, '')) ?? []
  expect(program).toBe('shieldlog')
  const { code } = await startCli(args, { env, cwd: temporaryFolder() }).exited
  return code
}

/** As a checkout made under umask 077 is. */
function closeToOthers(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

function stampsIn(folder: string): string[] {
  return filesIn(folder).map((path) => `${path} ${statSync(join(folder, path)).mtimeMs}`)
}
