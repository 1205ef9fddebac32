import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../setup/temp.ts'
import { load } from './loading.ts'

function exposedIn(yaml: string, mode: number): readonly string[] {
  const cwd = temporaryFolder()
  const file = join(cwd, 'shieldlog.yaml')
  writeFileSync(file, yaml)
  chmodSync(file, mode)
  return load({ cwd, env: { KEY: 'k' }, needs: 'nothing' }).exposed
}

const zones = 'zones: [101]\n'

test('a literal secret in a file that others can read is warned of, by its place only', () => {
  const warnings = exposedIn(`api: { accessKey: s3cret }\n${zones}`, 0o644)
  expect(warnings).toEqual([
    'shieldlog.yaml has mode 0644, so that other users of this host can read api.accessKey; run chmod 600 on it, or keep the secret in a file of its own (…File)',
  ])
})

test.each([
  [
    'a header',
    'sinks: [{ type: http, url: "https://h/", headers: { Authorization: x } }]',
    'sinks[0].headers.Authorization',
  ],
  ['a token', 'server: { token: x }', 'server.token'],
  ['a password in a URL', 'state: "redis://u:p@h"', 'state'],
  ['several', 'state: "redis://u:p@h"\nserver: { token: x }', 'state and 1 more'],
])('%s counts as a secret', (_, settings, place) => {
  const [warning] = exposedIn(`api: { accessKey: "\${KEY}" }\n${zones}${settings}\n`, 0o604)
  expect(warning).toContain(` can read ${place};`)
})

test.each([
  ['that only its owner and group can read', `api: { accessKey: s3cret }\n${zones}`, 0o640],
  ['with templates only', `api: { accessKey: "\${KEY}" }\n${zones}`, 0o644],
  ['without secrets', `${zones}state: "redis://h"\nsinks: [{ type: http, url: "https://h/" }]\n`, 0o644],
])('a file %s is well', (_, yaml, mode) => {
  expect(exposedIn(yaml, mode)).toEqual([])
})
