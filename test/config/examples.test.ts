import { readFileSync, readdirSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { nativeSchema } from '../../src/formats/native-schema.ts'
import { executeWith } from '../tasks/workshop.ts'
import { configJsonSchema } from '../../src/config/json-schema.ts'
import { isTemplate } from '../../src/config/templates.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { load, printed } from './loading.ts'

const folder = `${projectFolder}config/examples`
const examples = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
const validate = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true }).compile(
  configJsonSchema(),
)

/** Where any text would not do, by the last word of the name. */
const values: Readonly<Record<string, string>> = { URL: 'https://h.example/', SAS: 'sv=1&sig=value' }

/** A value for every name that an example asks for and gives no default. */
function environmentFor(text: string): Record<string, string> {
  const names = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name)
  return Object.fromEntries(names.map((name) => [name, values[/[A-Z]+$/.exec(name)?.[0] ?? ''] ?? 'value']))
}

test.each(examples)('%s loads without a warning, and fits the JSON Schema', (name) => {
  const yaml = readFileSync(`${folder}/${name}`, 'utf8')
  const { config, warnings } = load({ yaml, env: environmentFor(yaml) })
  expect(config.accounts[0]?.zones.length).toBeGreaterThan(0)
  expect(warnings).toEqual([])
  expect(validate(parse(yaml)), JSON.stringify(validate.errors)).toBe(true)
})

test('files that collectors follow stay plain', () => {
  const yaml = readFileSync(`${folder}/file.yaml`, 'utf8')
  expect(yaml).toContain('collector')
  const { config } = load({ yaml, env: environmentFor(yaml) })
  expect(config.sinks).toMatchObject([{ type: 'file', compress: 'none' }])
})

test('the output of config print fits the JSON Schema and loads to the same settings', () => {
  const yaml = readFileSync(`${folder}/file.yaml`, 'utf8')
  const first = load({ yaml, env: { SHIELDLOG_API_ACCESS_KEY: 'k' } })
  const text = printed(first)
  expect(validate(parse(text)), JSON.stringify(validate.errors)).toBe(true)
  expect(parse(printed(load({ yaml: text })))).toEqual(parse(text))
  expect(text).toContain('path: /var/lib/shieldlog/events # file shieldlog.yaml:12\n')
  expect(text).toContain('everySeconds: 30 # default\n')
})

test.each([
  [{ zones: ['x'] }, false],
  [{ zones: '${ZONES}' }, false],
  [{ server: { port: '${PORT}' } }, true],
  [{ server: { port: '9871' } }, false],
  [{ server: { prt: 1 } }, false],
  [{ sinks: [{ type: 'file', path: 'x', mode: '0600', format: '${F}' }] }, true],
  [{ sinks: [{ type: 'file' }] }, false],
  [{ sinks: [{ type: 'http', url: 'http://h/', headers: { A: 'b' } }] }, true],
  [{ state: { redis: { cluster: ['a:1'] } }, redact: 'off' }, true],
  [{ redact: false }, false],
])('the JSON Schema accepts %j: %s', (value, expected) => {
  expect(validate(value)).toBe(expected)
})

test('config schema prints the JSON Schema of the file or of a format', async () => {
  const { stdout } = await executeWith('', ['config', 'schema'])
  expect(JSON.parse(stdout)).toEqual(configJsonSchema())
  expect(isTemplate(stdout)).toBe(true)
  expect(stdout).not.toContain('x-marks')
  const line = await executeWith('', ['config', 'schema', '--format', 'native'])
  expect(JSON.parse(line.stdout)).toEqual(nativeSchema)
})
