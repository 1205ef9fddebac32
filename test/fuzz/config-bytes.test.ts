import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConfigErrors } from '../../src/config/errors.ts'
import { fileShape } from '../../src/config/file-shape.ts'
import { loadConfig } from '../../src/config/load.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { mutated, runsOf } from './mutated.ts'

const folder = join(projectFolder, 'config/examples')
const examples = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
const env = {
  SHIELDLOG_API_ACCESS_KEY: 'hunter2-hunter2',
  SIEM_TOKEN: 'token-of-siem',
  SIEM_BASIC_AUTH: 'dXNlcjpodW50ZXIz',
  REDIS_PASSWORD: 'pass-of-redis',
}
/** Mutations may well cut a secret out of its place; whole it is shown nowhere. */
const secrets = new RegExp(Object.values(env).join('|'))
/** Characters that control a terminal, or hide or reorder text there. */
const acting = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** A configuration, or errors that each name problem and remedy; any other throw fails the test. */
function outcomeOf(content: string | Buffer): 'config' | 'faults' {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'shieldlog.yaml'), content)
  try {
    loadConfig({ env, cwd, needs: 'nothing' })
    return 'config'
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    expect(error.message).not.toMatch(secrets)
    expect(error.message).not.toMatch(acting)
    for (const { problem, remedy } of error.errors) expect([problem, remedy]).not.toContain('')
    return 'faults'
  }
}

test.for(examples)('any bytes similar to %s are a configuration, or give errors without secrets', (name) => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(mutated(readFileSync(join(folder, name), 'utf8')), (bytes) => {
      seen.add(outcomeOf(bytes))
    }),
    { numRuns: runsOf(60), examples: [[Buffer.from(readFileSync(join(folder, name)))]] },
  )
  expect([...seen].toSorted()).toEqual(['config', 'faults'])
})

test('any JSON in place of a section is a configuration, or gives errors without secrets', () => {
  const sections = fc.constantFrom(...Object.keys(fileShape.properties ?? {}))
  fc.assert(
    fc.property(fc.dictionary(sections, fc.jsonValue(), { maxKeys: 4 }), (value) => {
      outcomeOf(JSON.stringify(value))
    }),
    { numRuns: runsOf(100) },
  )
})
