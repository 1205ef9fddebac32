import type { Problem } from './rule.ts'
import { circlesOfFiles, circlesOfFolders } from './circles.ts'
import { readSourceFile, type SourceFile } from './source-file.ts'

/** What the rules about the whole checkout look at. */
export interface Tree {
  /** Names in the project folder, without what .gitignore leaves out. */
  readonly topLevel: readonly string[]
  /** Names of the folders in src/sinks/ and src/state/. */
  readonly sinkFolders: readonly string[]
  readonly stateFolders: readonly string[]
  readonly dependencies: readonly string[]
  readonly devDependencies: readonly string[]
  readonly files: readonly SourceFile[]
}

export interface TreeRule {
  readonly name: string
  readonly remedy: string
  readonly problemsOf: (tree: Tree) => readonly Problem[]
  /** Changes of a sound tree that make it fail. */
  readonly refuses: readonly ((sound: Tree) => Tree)[]
}

// prettier-ignore
const topLevelNames = [
  'package.json', 'package-lock.json', 'tsconfig.json', 'docker-compose.yml', 'Dockerfile', 'README.md', 'LICENSE',
  'src', 'config', 'test', 'docs',
]

const packageOf = (specifier: string): string =>
  specifier.startsWith('@') ? specifier.split('/', 2).join('/') : (specifier.split('/')[0] ?? '')

function packagesOf(file: SourceFile): { readonly name: string; readonly line: number }[] {
  return file.imports
    .filter(({ target, specifier }) => target === undefined && !specifier.startsWith('node:'))
    .map(({ specifier, line }) => ({ name: packageOf(specifier), line }))
}

const inSrc = ({ path }: SourceFile): boolean => path.startsWith('src/')

export const treeRules: readonly TreeRule[] = [
  {
    name: 'the top level holds nothing new',
    remedy: `put tool configuration into package.json, config/ or test/; the top level holds ${topLevelNames.join(', ')} and dot files`,
    problemsOf: ({ topLevel }) =>
      topLevel
        .filter((name) => !name.startsWith('.') && !topLevelNames.includes(name))
        .map((name) => ({ what: `holds ${name}` })),
    refuses: [
      (sound) => ({ ...sound, topLevel: [...sound.topLevel, 'scripts'] }),
      (sound) => ({ ...sound, topLevel: [...sound.topLevel, 'vitest.config.ts'] }),
    ],
  },
  {
    name: 'no file of src/ imports in a circle, types included',
    remedy:
      'give what both need a file of its own below them, or take it as an argument: one of the imports points up',
    problemsOf: ({ files }) =>
      circlesOfFiles(files.filter(inSrc)).map((path) => ({ what: path.join(' → ') })),
    refuses: [
      (sound) => ({
        ...sound,
        files: [
          ...sound.files,
          readSourceFile('src/domain/a.ts', `import type { B } from './b.ts'`),
          readSourceFile('src/domain/b.ts', `import type { C } from './c.ts'`),
          readSourceFile('src/domain/c.ts', `export type { A } from './a.ts'`),
        ],
      }),
    ],
  },
  {
    name: 'no folders of src/ import in a circle, types included',
    remedy: 'move what both need into a folder below them: one of the imports points up',
    problemsOf: ({ files }) =>
      circlesOfFolders(files.filter(inSrc)).map((path) => ({ what: path.join(' → ') })),
    refuses: [
      (sound) => ({
        ...sound,
        files: [
          ...sound.files,
          readSourceFile('src/domain/a/one.ts', `import type { B } from '../b/two.ts'`),
          readSourceFile('src/domain/b/other.ts', `import type { A } from '../a/other.ts'`),
        ],
      }),
    ],
  },
  {
    name: 'every dependency is used by src/',
    remedy: 'remove it from dependencies in package.json, or move it to devDependencies',
    problemsOf({ dependencies, files }) {
      // Until it can be started, parts are missing.
      if (!files.some(({ path }) => path === 'src/cli.ts')) return []
      const used = files.filter(inSrc).flatMap(packagesOf)
      return dependencies
        .filter((dependency) => !used.some(({ name }) => name === dependency))
        .map((name) => ({ what: `${name} is imported nowhere` }))
    },
    refuses: [(sound) => ({ ...sound, dependencies: [...sound.dependencies, 'left-pad'] })],
  },
  {
    name: 'what src/ imports is a dependency',
    remedy:
      'what runs in production stands in dependencies of package.json: an installed package has nothing else',
    problemsOf: ({ dependencies, files }) =>
      files.filter(inSrc).flatMap((file) =>
        packagesOf(file)
          .filter(({ name }) => !dependencies.includes(name))
          .map(({ name, line }) => ({ what: `${file.path} imports ${name}`, line })),
      ),
    refuses: [(sound) => ({ ...sound, dependencies: sound.dependencies.slice(1) })],
  },
  {
    name: 'what test/ imports is a dependency of some kind',
    remedy:
      'add it to devDependencies of package.json; what only another package brings may be gone tomorrow',
    problemsOf: ({ dependencies, devDependencies, files }) =>
      files.flatMap((file) =>
        packagesOf(file)
          .filter(({ name }) => !dependencies.includes(name) && !devDependencies.includes(name))
          .map(({ name, line }) => ({ what: `${file.path} imports ${name}`, line })),
      ),
    refuses: [(sound) => ({ ...sound, devDependencies: [] })],
  },
  {
    name: 'every folder of sinks and stores is in its registry',
    remedy: 'add its line to src/sinks/registry.ts or src/state/registry.ts, or remove the folder',
    problemsOf: ({ sinkFolders, stateFolders, files }) => [
      ...unregistered('src/sinks', sinkFolders, files),
      // The ledger and the records in memory are registered with the change that puts the ledger over records.
      ...unregistered(
        'src/state',
        stateFolders.filter((name) => name !== 'ledger' && name !== 'memory'),
        files,
      ),
    ],
    refuses: [
      (sound) => ({ ...sound, sinkFolders: [...sound.sinkFolders, 'pigeon'] }),
      (sound) => ({ ...sound, stateFolders: [...sound.stateFolders, 'paper'] }),
    ],
  },
]

function unregistered(part: string, folders: readonly string[], files: readonly SourceFile[]): Problem[] {
  const registry = files.find(({ path }) => path === `${part}/registry.ts`)
  const imported = registry?.imports.map(({ target = '' }) => target) ?? []
  return folders
    .filter((name) => !imported.some((target) => target.startsWith(`${part}/${name}/`)))
    .map((name) => ({ what: `${part}/${name}/ is not imported by ${part}/registry.ts` }))
}
