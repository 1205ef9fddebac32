import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { projectFolder } from '../setup/project-folder.ts'

const readme = readFileSync(`${projectFolder}src/pump/README.md`, 'utf8')
const rows = readme.split('\n').filter((line) => /^\| \d+ \|/.test(line))
const namesIn = (text: string): string[] => [...text.matchAll(/`([\w/-]+)`/g)].map(([, name = '']) => name)

test('the way of an event is read in at most 14 files, one a row, all of which exist', () => {
  expect(rows.length).toBeGreaterThan(9)
  expect(rows.length).toBeLessThanOrEqual(14)
  const files = rows.map(namesIn)
  expect(files.filter((each) => each.length !== 1)).toEqual([])
  expect(files.flat().filter((name) => !existsSync(`${projectFolder}src/${name}.ts`))).toEqual([])
})

test('the page names every file of the folder', () => {
  const named = namesIn(readme).map((name) => name.replace(/^pump\//, ''))
  const files = readdirSync(`${projectFolder}src/pump`).filter((name) => name.endsWith('.ts'))
  expect(files.filter((name) => !named.includes(name.slice(0, -3)))).toEqual([])
})
