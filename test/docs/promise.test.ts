import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder } from '../setup/project-folder.ts'
import { readPage } from './pages.ts'

const [, section = ''] = /^## In case of failure$(.*?)^##/ms.exec(readPage('docs/guarantees.md')) ?? []
const rows = section.split('\n').filter((line) => line.startsWith('| '))
const promises = rows.slice(2).map((row) => row.split(' | '))

function filesOf(text: string): string[] {
  return [...text.matchAll(/`(test\/[^`]+)`/g)].map(([, file]) => file!)
}

test('every promise in case of failure names tests that exist', () => {
  expect(promises.length).toBeGreaterThan(10)
  for (const cells of promises) {
    expect(cells).toHaveLength(4)
    const files = filesOf(cells[3]!)
    expect(files.length, cells[0]).toBeGreaterThan(0)
    for (const file of files) expect(existsSync(join(projectFolder, file)), file).toBe(true)
  }
})

test('every test of failures is named with what it shows', () => {
  const named = filesOf(section)
  const tests = globSync('test/e2e/{crash,hostile}-*.test.ts', { cwd: projectFolder })
  expect(tests.length).toBeGreaterThan(5)
  expect(tests.filter((file) => !named.includes(file))).toEqual([])
})
