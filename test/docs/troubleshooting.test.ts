import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { internalEvents } from '../../src/telemetry/telemetry.ts'
import { failureCodes } from '../../src/domain/failure.ts'
import { earlyEndCode } from '../../src/domain/plan/route-state.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { readPage } from './pages.ts'

/** Said by Node and npm. */
const foreign = [
  'Unknown file extension ".ts"',
  'npm warn EBADENGINE',
  'no space left on device',
  'read-only file system',
]

function firstCells(heading: string): string[] {
  const page = `${readPage('docs/troubleshooting.md')}\n## `
  const [, section = ''] = new RegExp(`^## ${heading}$(.*?)^## `, 'ms').exec(page) ?? []
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows
    .slice(2)
    .flatMap((row) => [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(([, said]) => said!))
}

test('every message on the page is a message of the program', () => {
  const source = globSync('src/**/*.ts', { cwd: projectFolder })
    .map((path) => readFileSync(join(projectFolder, path), 'utf8'))
    .join('\n')
  const messages = firstCells('Messages')
  expect(messages.length).toBeGreaterThan(10)
  for (const message of messages.filter((each) => !foreign.includes(each)))
    for (const piece of message.split('…').map((each) => each.trim()))
      expect(source.includes(piece), `nothing in src/ says "${piece}"`).toBe(true)
})

test('every code and every event on the page exists', () => {
  const known = [...failureCodes, earlyEndCode, ...Object.keys(internalEvents)]
  const explained = firstCells('Codes and log events')
  expect(explained.length).toBeGreaterThan(5)
  expect(explained.filter((name) => !known.includes(name))).toEqual([])
})
