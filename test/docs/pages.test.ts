import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { blockNames, fillBlocks, generatedBlocks } from './blocks.ts'
import { problemsInShell, plainProgram } from './commands.ts'
import { anchorsOf, linksOf, allBlocks, pages, readPage, shellBlocks, type Page } from './pages.ts'

test('the README has at most 250 lines', () => {
  expect(readPage('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(250)
})

describe('generated parts of the pages', async () => {
  const blocks = await generatedBlocks()

  test.for(Object.keys(blocks))('%s is in a page and up to date', (name) => {
    const holding = pages.filter(({ text }) => blockNames(text).includes(name))
    expect(holding.length, `<!-- BEGIN ${name} --> and <!-- END ${name} --> are missing`).toBeGreaterThan(0)
    for (const { path, text } of holding)
      expect(fillBlocks(text, { [name]: blocks[name]! }) === text, `${path} is old: run npm run docs`).toBe(
        true,
      )
  })
})

describe('configurations', () => {
  const configurations = allBlocks.filter(({ fence }) => fence.marks.includes('shieldlog'))
  test('the pages have configurations', () => expect(configurations.length).toBeGreaterThan(3))

  test.for(configurations)('$title', ({ fence }) => {
    const folder = temporaryFolder()
    const file = join(folder, 'shieldlog.yaml')
    // Secrets that the text reads from files lie in this folder instead.
    const text = fence.text.replaceAll('/run/secrets/', `${folder}/`)
    for (const [, name = ''] of text.matchAll(new RegExp(`${folder}/([\\w.-]+)`, 'g')))
      writeFileSync(join(folder, name), 'secret\n')
    writeFileSync(file, text)
    const names = [...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => name)
    const env = Object.fromEntries(names.map((name) => [name, `x-${name}`]))
    const loaded = loadConfig({
      argv: { config: file },
      env: { ...env, SIEM_URL: 'https://siem.example/in' },
    })
    expect(loaded.warnings).toEqual([])
  })

  test('every other YAML is YAML, every JSON is JSON', () => {
    for (const { fence, title } of allBlocks) {
      if (fence.language === 'yaml')
        for (const document of parseAllDocuments(fence.text)) expect(document.errors, title).toEqual([])
      if (fence.language === 'json') expect(parse(fence.text), title).toBeDefined()
    }
  })
})

describe('commands', async () => {
  const program = await plainProgram()

  test.for(shellBlocks())('$title exists, with its options, and has no comment', ({ fence }) => {
    expect(problemsInShell(fence.text, program)).toEqual([])
  })
})

describe('links', () => {
  test.for(pages)('of $path lead to files and headings that exist', ({ path, text }) => {
    for (const target of linksOf(text)) if (!/^https?:/.test(target)) expectTarget(target, path, text)
  })

  test('every page can be reached from docs/README.md, pages of destinations from theirs, and that one from README.md', () => {
    const linked = ['docs/README.md', 'docs/destinations/README.md'].flatMap((path) =>
      linkedFrom(pageAt(path)),
    )
    const lost = pages
      .map(({ path }) => path)
      .filter((path) => !linked.includes(path) && path !== 'docs/README.md')
    expect(lost).toEqual([])
    expect(linkedFrom(pageAt('README.md'))).toContain('docs/README.md')
  })

  test('files and folders named in the map exist', () => {
    const map = allBlocks.find(({ fence }) => fence.marks.includes('map'))
    const paths = [...(map?.fence.text ?? '').matchAll(/^(\S+)\s/gm)].map(([, path = '']) => path)
    expect(paths.length).toBeGreaterThan(8)
    for (const path of paths) expect(existsSync(join(projectFolder, path)), path).toBe(true)
  })
})

function expectTarget(target: string, from: string, text: string): void {
  const [file = '', anchor] = target.split('#')
  const path = file === '' ? from : normalize(join(dirname(from), file))
  expect(existsSync(join(projectFolder, path)), target).toBe(true)
  if (anchor !== undefined) expect(anchorsOf(file === '' ? text : readPage(path)), target).toContain(anchor)
}

function linkedFrom({ path, text }: Page): string[] {
  return linksOf(text).map((target) => normalize(join(dirname(path), target.split('#')[0]!)))
}

function pageAt(path: string): Page {
  return { path, text: readPage(path) }
}
