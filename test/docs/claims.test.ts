import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failureCodes } from '../../src/domain/failure.ts'
import { earlyEndCode } from '../../src/domain/plan/route-state.ts'
import { guards } from '../../src/domain/scan/scan.ts'
import { internalEvents } from '../../src/telemetry/internal-events.ts'
import { changedCosts, measureCosts, readCosts } from '../bench/cost/costs.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { readPage } from './pages.ts'

/** The cells of the rows of the table under a heading of a page. */
function tableUnder(heading: string, page: string): string[][] {
  const section =
    readPage(page)
      .split(/^## /m)
      .find((each) => each.startsWith(`${heading}\n`)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) => row.split(' | '))
}

const codesIn = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, said]) => said!)

const promised = ['In case of failure', 'Failures of object storage and Kafka'].flatMap((heading) =>
  tableUnder(heading, 'docs/guarantees.md'),
)
const promises = tableUnder('Tests of failures', 'docs/development.md')
const filesOf = (text = '') => codesIn(text).filter((each) => each.startsWith('test/'))

test('every promise in case of failure has tests that exist', () => {
  const failureOf = ([failure = '']: readonly string[]) => failure.replace(/^\| /, '')
  expect(promises.map(failureOf)).toEqual(promised.map(failureOf))
  expect(promises.length).toBeGreaterThan(10)
  for (const cells of promises) {
    const files = filesOf(cells.at(-1))
    expect(files.length, cells[0]).toBeGreaterThan(0)
    for (const file of files) expect(existsSync(join(projectFolder, file)), file).toBe(true)
  }
})

test('every test of failures is named with what it shows', () => {
  const named = promises.flat().flatMap(filesOf)
  const tests = globSync('test/e2e/{crash,hostile}-*.test.ts', { cwd: projectFolder })
  expect(tests.length).toBeGreaterThan(5)
  expect(tests.filter((file) => !named.includes(file))).toEqual([])
})

/** Said by Node and npm. */
const foreign = [
  'Unknown file extension ".ts"',
  'npm warn EBADENGINE',
  'no space left on device',
  'read-only file system',
]
const explained = (heading: string) =>
  tableUnder(heading, 'docs/troubleshooting.md').flatMap(([first]) => codesIn(first))

test('every message on the page of troubleshooting is a message of the program', () => {
  const source = globSync('src/**/*.ts', { cwd: projectFolder })
    .map((path) => readFileSync(join(projectFolder, path), 'utf8'))
    .join('\n')
  const messages = explained('Messages')
  expect(messages.length).toBeGreaterThan(10)
  for (const message of messages.filter((each) => !foreign.includes(each)))
    for (const piece of message.split('…').map((each) => each.trim()))
      expect(source.includes(piece), `nothing in src/ says "${piece}"`).toBe(true)
})

test('every code and every event on the page of troubleshooting exists', () => {
  const known: string[] = [...failureCodes, ...guards, earlyEndCode, ...Object.keys(internalEvents)]
  const names = explained('Codes and log events')
  expect(names.length).toBeGreaterThan(5)
  expect(names.filter((name) => !known.includes(name))).toEqual([])
})

test('the docs say how many bytes an event takes in each format and preset', async () => {
  const changed = changedCosts(await measureCosts(), readCosts())
  expect(changed, 'docs/reference/cost.json is old: run npm run docs').toEqual([])
})
