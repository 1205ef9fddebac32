import fc from 'fast-check'
import { stringify } from 'yaml'
import { expect, test } from 'vitest'
import { ConfigErrors } from '../../src/config/errors.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { LoadOptions } from '../../src/config/reading.ts'
import { fileShape as shape } from '../../src/config/file-shape.ts'
import { settingsOf } from '../../src/config/environment.ts'
import { type Shape, forms } from '../../src/config/shape.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup/temp.ts'
import { printed } from './loading.ts'

/** A configuration, or errors that each name problem and remedy; any other throw fails the test. */
function outcome(options: LoadOptions): 'config' | 'errors' {
  try {
    expect(printed(loadConfig(options))).not.toBe('')
    return 'config'
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    expect(error.errors.length).toBeGreaterThan(0)
    for (const { problem, remedy } of error.errors) expect([problem, remedy]).not.toContain('')
    return 'errors'
  }
}

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('', '${', '${X}', '${file:x}', '$${', '__proto__', 'off', '\0', '101,102'),
  fc.constantFrom('sqlite:', 'redis://', 'http://'),
)
const scalar = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null))
const anything = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(text, fc.constantFrom('type', 'url', 'name', 'zones', 'api')), tie('value'), {
      maxKeys: 3,
    }),
  ),
})).value

/** Mostly what a setting takes, sometimes anything else. */
function likely(of: Shape): fc.Arbitrary<unknown> {
  const good = fc.oneof(...forms(of).map(goodForm))
  return fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: anything })
}

function goodForm(form: Shape): fc.Arbitrary<unknown> {
  if (form.const !== undefined) return fc.constant(form.const)
  if (form.enum !== undefined) return fc.constantFrom(...form.enum)
  if (form.items !== undefined) return fc.array(likely(form.items), { maxLength: 3 })
  if (form.properties !== undefined)
    return fc.record(
      Object.fromEntries(Object.entries(form.properties).map(([key, field]) => [key, likely(field)])),
      { requiredKeys: [] },
    )
  if (form.type === 'integer' || form.type === 'number')
    return fc.oneof(fc.integer({ min: 0, max: 100 }), fc.double())
  return fc.oneof(text, fc.constantFrom('a', 'sqlite:x', 'redis://h', 'http://h/', '0600', 'main'))
}

const variables = fc.array(
  fc.tuple(
    fc.constantFrom(...settingsOf(shape).map(({ environment }) => environment)),
    fc.oneof(
      text,
      fc.json(),
      anything.map((value) => stringify(value)),
    ),
  ),
  { maxLength: 3 },
)

test('any values in place of settings, in the file and in the environment, give a configuration or errors, and both happen', () => {
  const cwd = temporaryFolder()
  const file = join(cwd, 'shieldlog.yaml')
  const seen = new Set<string>()
  fc.assert(
    fc.property(likely(shape), fc.boolean(), variables, (value, asJson, set) => {
      writeFileSync(file, (asJson ? JSON.stringify(value) : stringify(value)) ?? '')
      seen.add(outcome({ env: { X: '1', ...Object.fromEntries(set) }, cwd, needs: 'nothing' }))
    }),
    { numRuns: 200, examples: [[{ zones: [101] }, true, []]] },
  )
  expect([...seen].toSorted()).toEqual(['config', 'errors'])
})
