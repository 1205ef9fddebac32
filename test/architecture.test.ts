import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder } from './setup/project-folder.ts'

// Who may import whom, where packages and time may be used, and file names are rules of the linter, in
// config/oxlint.config.ts. Here stands what it cannot see.

interface SourceFile {
  readonly path: string
  readonly text: string
  /** As written. */
  readonly imports: readonly string[]
}

const source = filesIn('src')
const tests = filesIn('test')
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>

test('no folders of src/ import in a circle, types included: what both need belongs into a folder below them', () => {
  const importsOf = new Map<string, Set<string>>()
  for (const { path, imports } of source) {
    const folder = posix.dirname(path)
    const others = imports
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => posix.dirname(posix.join(folder, specifier)))
      // A folder and the folders inside of it are one part.
      .filter((other) => !`${other}/`.startsWith(`${folder}/`) && !`${folder}/`.startsWith(`${other}/`))
    importsOf.set(folder, new Set([...(importsOf.get(folder) ?? []), ...others]))
  }
  expect(circlesIn(importsOf)).toEqual([])
})

test('every file and folder that a README of src/ names exists', () => {
  const all = readdirSync(`${projectFolder}src`, { recursive: true, encoding: 'utf8' })
  const exists = (path: string) => all.some((each) => each === path || `/${each}`.endsWith(`/${path}.ts`))
  const missing = all
    .filter((path) => path.endsWith('README.md'))
    .flatMap((readme) =>
      [...read(`src/${readme}`).matchAll(/`(?:src\/)?([\w-]+(?:\/[\w-]+)+|[\w-]+(?=\.ts))(?:\.ts|\/)?`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !path.includes('/') || existsSync(`${projectFolder}src/${path.split('/')[0]}`))
        .filter((path) => !exists(path) && !exists(posix.join(posix.dirname(readme), path)))
        .map((path) => `${readme}: ${path}`),
    )
  expect(missing).toEqual([])
})

test('the time of the host is never read by a date without arguments: take it from the Clock', () => {
  const readers = source.filter(({ path, text }) => {
    const isClock = path === 'src/clock.ts' || path.startsWith('src/schedule/local/')
    return !isClock && /\bnew (?:Date|UTCDate(?:Mini)?)\(\)|(?<!new )\bDate\(\)/.test(text)
  })
  expect(readers.map(({ path }) => path)).toEqual([])
})

test('src/ imports every dependency of package.json and nothing else, and tests only what package.json names', () => {
  const dependencies = Object.keys(manifest.dependencies)
  const known = [...dependencies, ...Object.keys(manifest.devDependencies)]
  const imported = packagesOf(source)
  expect([...imported].toSorted()).toEqual(dependencies.toSorted())
  expect([...packagesOf(tests)].filter((name) => !known.includes(name))).toEqual([])
})

test('the top level holds nothing new: tool configuration belongs into package.json, config/ or test/', () => {
  const ignored = read('.gitignore').split('\n').filter(Boolean)
  const isIgnored = (name: string): boolean =>
    name.startsWith('.') ||
    ignored.some((each) =>
      each.startsWith('*') ? name.endsWith(each.slice(1)) : each.replace(/\/$/, '') === name,
    )
  expect(
    readdirSync(projectFolder)
      .filter((name) => !isIgnored(name))
      .toSorted(),
  ).toEqual(
    [
      'Dockerfile',
      'LICENSE',
      'README.md',
      'config',
      'docker-compose.yml',
      'docs',
      'package-lock.json',
      'package.json',
      'src',
      'test',
      'tsconfig.json',
    ].toSorted(),
  )
})

/** Paths that lead from a folder over its imports back to it; of each circle the first one that is found. */
function circlesIn(importsOf: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>()
  const circles: string[] = []
  function follow(folder: string, way: readonly string[]): void {
    if (way.includes(folder)) circles.push([...way.slice(way.indexOf(folder)), folder].join(' → '))
    else if (!done.has(folder))
      for (const other of importsOf.get(folder) ?? []) follow(other, [...way, folder])
    done.add(folder)
  }
  for (const folder of importsOf.keys()) follow(folder, [])
  return circles
}

function packagesOf(files: readonly SourceFile[]): ReadonlySet<string> {
  const specifiers = files.flatMap(({ imports }) => imports).filter((each) => !/^(?:\.|node:)/.test(each))
  return new Set(specifiers.map((each) => each.split('/', each.startsWith('@') ? 2 : 1).join('/')))
}

function filesIn(folder: string): SourceFile[] {
  return readdirSync(projectFolder + folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const text = read(`${folder}/${path}`)
      const found = text.matchAll(
        /^(?:(?:import|export) (?:type )?(?:[\w$*]+,? ?(?:as \w+)?)?(?:\{[^}]*\})? ?from |import )'([^']+)'|\bimport\('([^']+)'\)/gm,
      )
      return {
        path: `${folder}/${path}`,
        text,
        imports: [...found].map(([, stated, dynamic]) => stated ?? dynamic ?? ''),
      }
    })
}

function read(path: string): string {
  return readFileSync(projectFolder + path, 'utf8')
}
