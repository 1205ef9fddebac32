import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../src/config/load/load.ts'
import { blockNames, fillBlocks, generatedBlocks } from './docs/blocks.ts'
import { anchorsOf, fencesOf, linksOf, type Fence } from './docs/fences.ts'
import { startProcess } from './setup/processes.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

const readme = readFileSync(join(projectFolder, 'README.md'), 'utf8')
const fences = fencesOf(readme)
const titled = (list: readonly Fence[]) =>
  list.map((fence) => ({ fence, title: `line ${fence.line}: ${fence.text.split('\n')[0]}` }))

describe('what the code itself gives', () => {
  const blocks = generatedBlocks()

  test.for(Object.keys(blocks))('%s stands in the README as it is', (name) => {
    expect(blockNames(readme), `<!-- BEGIN ${name} --> and <!-- END ${name} --> are missing`).toContain(name)
    const only = { [name]: blocks[name]! }
    expect(fillBlocks(readme, only) === readme, `the block ${name} is old: run npm run docs`).toBe(true)
  })

  test('an old block is noticed, and others are left alone', () => {
    const text = '<!-- BEGIN a -->\nold\n<!-- END a -->\n<!-- BEGIN b -->\nfigures\n<!-- END b -->\n'
    expect(fillBlocks(text, { a: 'new $1' })).toBe(text.replace('old', () => 'new $1'))
    expect(fillBlocks(text, { c: 'new' })).toBe(text)
  })
})

describe('configurations', () => {
  const configurations = titled(fences.filter(({ marks }) => marks.includes('shieldlog')))
  test('there are some', () => expect(configurations.length).toBeGreaterThan(3))

  test.for(configurations)('$title', ({ fence }) => {
    const folder = temporaryFolder()
    const file = join(folder, 'shieldlog.yaml')
    // Secrets that the text reads from files lie in this folder instead.
    const text = fence.text.replaceAll('/run/secrets/', `${folder}/`)
    writeFileSync(file, text)
    for (const [, name = ''] of text.matchAll(new RegExp(`${folder}/([\\w.-]+)`, 'g')))
      writeFileSync(join(folder, name), 'secret\n')
    writeFileSync(file, text)
    const env = Object.fromEntries(
      [...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => [name, `x-${name}`]),
    )
    const loaded = loadConfig({
      argv: { config: file },
      env: { ...env, SIEM_URL: 'https://siem.example/in' },
    })
    expect(loaded.warnings).toEqual([])
  })

  test('every other YAML is YAML', () => {
    for (const { text, line } of fences.filter(({ language }) => language === 'yaml'))
      for (const document of parseAllDocuments(text)) expect(document.errors, `line ${line}`).toEqual([])
    for (const { text } of fences.filter(({ language }) => language === 'json'))
      expect(parse(text)).toBeDefined()
  })
})

describe('commands', () => {
  const shell = fences.filter(({ language }) => language === 'sh')

  test.for(titled(shell))('bash understands $title', async ({ fence }) => {
    const bash = startProcess('bash', ['-n'], { input: fence.text })
    expect([(await bash.exited).code, bash.stderr()]).toEqual([0, ''])
  })

  const runnable = titled(shell.filter(({ marks }) => marks.includes('run')))
  test('some are run', () => expect(runnable.length).toBeGreaterThan(0))

  // A page of commands starts many processes, and the machine may be busy with other runs.
  test.for(runnable)('$title does what it says', { timeout: 300_000 }, async ({ fence }) => {
    const folder = checkout()
    const path = [join(projectFolder, 'node_modules', '.bin'), dirname(process.execPath), process.env['PATH']]
    // Whatever ends it, what it started in the background ends too: `timeout` signals all of its group.
    const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${fence.text}`
    const bash = startProcess('timeout', ['-k', '5', '200', 'bash', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: { ...withoutSettings(), PATH: path.join(delimiter), TMPDIR: folder },
    })
    const { code } = await bash.exited
    expect(code, `${bash.stdout()}\n${bash.stderr()}`).toBe(0)
  })
})

/** A folder that looks like the checkout, in which files may be written. */
function checkout(): string {
  const folder = temporaryFolder()
  mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'src', 'config', 'node_modules'])
    symlinkSync(join(projectFolder, name), join(folder, name))
  return folder
}

/** The settings of whoever runs the tests are not those of the reader. */
function withoutSettings(): Record<string, undefined> {
  const names = Object.keys(process.env).filter((name) => name.startsWith('SHIELDLOG_'))
  return Object.fromEntries(names.map((name) => [name, undefined]))
}

describe('links', () => {
  test('lead to files and headings that exist', () => {
    const anchors = anchorsOf(readme)
    for (const target of linksOf(readme)) {
      if (/^https?:/.test(target)) continue
      if (target.startsWith('#')) expect(anchors, target).toContain(target.slice(1))
      else expect(existsSync(join(projectFolder, target.split('#')[0]!)), target).toBe(true)
    }
  })

  test('files and folders named in the map exist', () => {
    const map = fences.find(({ marks }) => marks.includes('map'))
    const paths = [...(map?.text ?? '').matchAll(/^(\S+)\s/gm)].map(([, path = '']) => path)
    expect(paths.length).toBeGreaterThan(8)
    for (const path of paths) expect(existsSync(join(projectFolder, path)), path).toBe(true)
  })

  test('a heading, a link and a fence are found as GitHub finds them', () => {
    const text = '# What `x` does, and why\n```sh run\n[no](link)\n```\n[a](#b) `[c](d)` [e](f.md)\n'
    expect(anchorsOf(text)).toEqual(['what-x-does-and-why'])
    expect(linksOf(text)).toEqual(['#b', 'f.md'])
    expect(fencesOf(text)).toEqual([{ language: 'sh', marks: ['run'], text: '[no](link)\n', line: 3 }])
    expect(() => fencesOf('```sh\nopen')).toThrow(/no end/)
  })
})
