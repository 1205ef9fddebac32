import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { arrows } from './architecture/arrows.ts'
import { files as fileRules } from './architecture/files.ts'
import { language } from './architecture/language.ts'
import { packages } from './architecture/packages.ts'
import { explain, type Rule, type Snippet } from './architecture/rule.ts'
import { readSourceFile, type SourceFile } from './architecture/source-file.ts'
import { treeRules, type Tree } from './architecture/tree.ts'
import { projectFolder } from './setup/project-folder.ts'

const rules: readonly Rule[] = [...arrows, ...packages, ...language, ...fileRules]
const tree = readTree()

describe.each(rules)('$name', (rule) => {
  test('holds', () => {
    const problems = tree.files
      .filter(({ path }) => rule.covers(path))
      .flatMap((file) => rule.problemsOf(file).map((problem) => explain(rule, file.path, problem)))
    expect(problems, problems.join('\n')).toEqual([])
  })

  test('can fail, and does not fail for nothing', () => {
    expect(rule.refuses.filter((snippet) => problemsIn(rule, snippet) === 0)).toEqual([])
    expect(rule.accepts.filter((snippet) => problemsIn(rule, snippet) > 0)).toEqual([])
    expect(rule.refuses.length * rule.accepts.length).toBeGreaterThan(0)
  })
})

describe.each(treeRules)('$name', (rule) => {
  test('holds', () => {
    const problems = rule.problemsOf(tree).map((problem) => explain(rule, 'project', problem))
    expect(problems, problems.join('\n')).toEqual([])
  })

  test('can fail, and does not fail for nothing', () => {
    expect(rule.problemsOf(soundTree)).toEqual([])
    expect(rule.refuses.filter((change) => rule.problemsOf(change(soundTree)).length === 0)).toEqual([])
    expect(rule.refuses.length).toBeGreaterThan(0)
  })
})

test('looks at real files', () => {
  expect(tree.files.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['src/ports/store.ts', 'src/domain/day.ts', 'test/architecture.test.ts']),
  )
  expect(tree.topLevel).not.toContain('node_modules')
})

const soundTree: Tree = {
  topLevel: ['package.json', 'src', '.gitignore'],
  sinkFolders: ['file'],
  stateFolders: ['sqlite'],
  dependencies: ['zod', '@date-fns/utc'],
  devDependencies: ['vitest'],
  files: [
    readSourceFile('src/sinks/registry.ts', `import { x } from './file/sink.ts'\nimport 'node:fs'`),
    readSourceFile('src/state/registry.ts', `import { x } from './sqlite/kind.ts'`),
    readSourceFile('src/config/schema/schema.ts', `import { z } from 'zod'\nimport '@date-fns/utc/date'`),
    readSourceFile('src/cli.ts', ''),
    readSourceFile('test/x.test.ts', `import { test } from 'vitest'`),
  ],
}

function problemsIn(rule: Rule, { path, text }: Snippet): number {
  return rule.covers(path) ? rule.problemsOf(readSourceFile(path, text)).length : 0
}

function readTree(): Tree {
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string> | undefined>
  return {
    topLevel: topLevelNames(),
    sinkFolders: foldersIn('src/sinks'),
    stateFolders: foldersIn('src/state'),
    dependencies: Object.keys(manifest['dependencies'] ?? {}),
    devDependencies: Object.keys(manifest['devDependencies'] ?? {}),
    files: ['src', 'test'].flatMap(sourceFilesIn),
  }
}

function read(path: string): string {
  return readFileSync(projectFolder + path, 'utf8')
}

/** Without the names that .gitignore leaves out; it holds plain names and `*.ending` only. */
function topLevelNames(): string[] {
  const ignored = read('.gitignore').split('\n').filter(Boolean)
  const isIgnored = (name: string): boolean =>
    ignored.some((each) =>
      each.startsWith('*') ? name.endsWith(each.slice(1)) : each === name || each === `${name}/`,
    )
  return readdirSync(projectFolder).filter((name) => !isIgnored(name))
}

function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(projectFolder + path, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  } catch {
    return []
  }
}

function sourceFilesIn(folder: string): SourceFile[] {
  return readdirSync(projectFolder + folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `${folder}/${path}`)
    .toSorted()
    .map((path) => readSourceFile(path, read(path)))
}
