import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expand, literal, readSecretFile } from '../../src/config/templates.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { basics, errorsOf, load } from './loading.ts'

const cwd = '/nowhere'

test.each([
  ['plain $NAME {x} $', 'plain $NAME {x} $'],
  ['${A}', 'one'],
  ['<${A}|${A}>', '<one|one>'],
  ['${EMPTY}', ''],
  ['${EMPTY:-two}', 'two'],
  ['${NONE:-}', ''],
  ['${NONE:-a b:-c$}', 'a b:-c$'],
  ['$${A}', '${A}'],
  ['$$${A}', '$${A}'],
  ['$${', '${'],
  ['${NESTED}', '${A}'],
])('%s gives %s', (text, expected) => {
  const env = { A: 'one', EMPTY: '', NESTED: '${A}' }
  expect(expand(text, { env, cwd })).toBe(expected)
})

test.each([
  ['${NONE}', 'uses ${NONE}, which is not set'],
  ['${A', 'contains "${" without "}"'],
  ['${}', 'neither a variable nor file:'],
  ['${A B}', 'neither a variable nor file:'],
  ['${A-b}', 'neither a variable nor file:'],
  ['${file:}', 'which is not a regular file'],
  ['${file:/none/x}', 'uses /none/x, which cannot be read: no such file or directory (ENOENT)'],
  ['${file:/dev/zero}', 'uses /dev/zero, which is not a regular file'],
])('%s is refused', (text, problem) => {
  expect(() => expand(text, { env: { A: 'one' }, cwd: '/' })).toThrow(problem)
})

test('text with an escaped ${ is unchanged', () => {
  const similar = fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', ':', '-') })
  fc.assert(fc.property(similar, (text) => expand(literal(text), { env: {}, cwd }) === text))
})

test('expanded text gets the type of its setting', () => {
  const yaml = `api: { accessKey: "\${K}" }
zones: \${Z}
server: { port: "\${P:-0}" }
poll: { settleAfterHours: "\${H}", everySeconds: "\${E}" }
`
  const env = { K: 'k', Z: '101, 102', H: '0.5,6', E: '1.5' }
  const { config } = load({ yaml, env })
  expect(config.accounts[0]?.zones.map(({ id }) => id)).toEqual([101, 102])
  expect(config.server.port).toBe(0)
  expect(config.poll).toMatchObject({ settleAfterHours: [0.5, 6], everySeconds: 1.5 })
})

test('an error shows the template, not the expanded text', () => {
  const yaml = `${basics}server: { port: "1\${P}" }\n`
  expect(errorsOf({ yaml, env: { P: 'x' } })).toMatchObject([
    { path: 'server.port', value: '"1${P}"', where: 'shieldlog.yaml:3' },
  ])
})

test('scalars from the environment are literal, documents are expanded like a file', () => {
  const env = {
    SHIELDLOG_API_ACCESS_KEY: 'a${b}c',
    SHIELDLOG_ZONES: '1',
    SHIELDLOG_SINKS: '[{ type: http, url: "http://h/", headers: { A: "${T}" } }]',
    T: 't',
  }
  const { config } = load({ env })
  expect(config.accounts[0]?.accessKey.reveal()).toBe('a${b}c')
  const [sink] = config.sinks
  expect(sink?.type === 'http' && sink.headers['A']?.reveal()).toBe('t')
})

test('refuses a secret file in UTF-16, and leaves a byte order mark out', () => {
  const files = join(temporaryFolder(), 'secret')
  writeFileSync(files, Buffer.from('\ufeffsecret\n', 'utf16le'))
  expect(() => readSecretFile(files, '/')).toThrow(`uses ${files}, which is not UTF-8`)
  writeFileSync(files, '\ufeffsecret\r\n')
  expect(readSecretFile(files, '/')).toBe('secret')
})
