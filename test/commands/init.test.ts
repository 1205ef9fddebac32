import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { destinations } from '../../src/commands/init/settings.ts'
import { loadConfig } from '../../src/config/load.ts'
import { presets } from '../../src/sinks/http/presets/registry.ts'
import { sinks } from '../../src/sinks/registry.ts'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { printed } from '../config/loading.ts'
import { executeWith } from './workshop.ts'
import * as faults from '../simulator/faults.ts'

const accessKey = 'the-key-of-the-account'
/** For a later check: other tests use the usual port at the same time. */
const anyPort = ['--set', 'server.port=0']

/** A folder with a key file, and an account to connect to; `init` adds what every call needs. */
async function newcomer(options: SimulatorOptions = {}) {
  const simulator = await startSimulator({ zones: [101, 102], accessKey, ...options })
  onTestFinished(() => simulator.close())
  const folder = temporaryFolder()
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, `${accessKey}\n`)
  const file = join(folder, 'shieldlog.yaml')
  const base = ['--set', `api.baseUrl=${simulator.url}`]
  return {
    folder,
    file,
    simulator,
    keyFile,
    init: (...args: readonly string[]) =>
      executeWith(file, ['init', '--access-key-file', keyFile, ...base, ...args]),
    bare: (...args: readonly string[]) => executeWith(file, ['init', ...base, ...args]),
  }
}

describe('init from options', () => {
  test('writes a commented configuration that passes check and that only its owner can read', async () => {
    const { init, file, folder, keyFile } = await newcomer()
    const { code, stdout, stderr } = await init('--zones', '102,101', '--destination', 'file', ...anyPort)
    expect([code, stderr]).toEqual([0, 'Key accepted.\n'])
    expect(stdout).toContain(`check -c ${file}`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const text = readFileSync(file, 'utf8')
    expect(text.match(/^# /gm)?.length).toBeGreaterThan(4)
    expect(parse(text)).toMatchObject({
      api: { accessKeyFile: keyFile },
      zones: [102, 101],
      state: `sqlite:${join(folder, 'var/shieldlog.db')}`,
      sinks: [{ name: 'archive', type: 'file', path: join(folder, 'var/events') }],
    })
    expect(await executeWith(file, ['check', '--offline'])).toMatchObject({ code: 0 })
    expect(await executeWith(file, ['check'])).toMatchObject({ code: 0 })
  })

  test('the settings in the comments of the file are valid', async () => {
    const { init, file } = await newcomer()
    await init('--zones', '101', '--destination', 'stdout')
    const [before = '', suggested = ''] = readFileSync(file, 'utf8').split(
      '# More settings, with their defaults:\n',
    )
    expect(suggested).toMatch(/^# poll: .*\n# server: /)
    writeFileSync(file, before + suggested.replaceAll(/^# /gm, ''))
    expect(printed(loadConfig({ argv: { config: file }, env: {} }))).toMatch(/port: 9871 # file/)
  })

  test('writes secrets to separate files, and the other settings with their types', async () => {
    const { init, file, folder } = await newcomer()
    const sets = [
      'headers.Authorization=Bearer s3cret=',
      'batch.maxEvents=5',
      'name=siem',
      'poll.everySeconds=7.5',
    ]
    const args = ['--zones', '101', '--destination', 'ndjson', '--url', 'https://siem.example/in?a=${A:-b}']
    const { code } = await init(...args, ...sets.flatMap((text) => ['--set', text]))
    expect(code).toBe(0)
    const secret = join(folder, 'ndjson-authorization.secret')
    expect([readFileSync(secret, 'utf8'), statSync(secret).mode & 0o777]).toEqual(['Bearer s3cret=\n', 0o600])
    expect(readFileSync(file, 'utf8')).not.toContain('s3cret')
    const { config } = loadConfig({ argv: { config: file }, env: {} })
    expect(config.poll.everySeconds).toBe(7.5)
    expect(config.sinks).toMatchObject([
      { name: 'siem', url: 'https://siem.example/in?a=b', batch: { maxEvents: 5 } },
    ])
  })

  test.each([
    ['file', 'archive'],
    ['ndjson', 'siem'],
    ['stdout', 'stdout'],
  ])('names a sink of destination %s %s, not after its preset', async (destination, name) => {
    const { init, file } = await newcomer()
    const url = destination === 'ndjson' ? ['--url', 'https://siem.example/in'] : []
    expect(await init('--zones', '101', '--destination', destination, ...url)).toMatchObject({ code: 0 })
    expect(loadConfig({ argv: { config: file }, env: {} }).config.sinks[0]?.name).toBe(name)
  })

  test('takes all zones of the account', async () => {
    const { init, file } = await newcomer({ zones: [7, 101, 102] })
    expect(await init('--zones', 'all', '--destination', 'file', ...anyPort)).toMatchObject({ code: 0 })
    expect(parse(readFileSync(file, 'utf8'))).toMatchObject({ zones: 'all' })
    expect(await executeWith(file, ['check'])).toMatchObject({ code: 0 })
  })

  test('accepts ids without a check if the zones cannot be listed, and reports that', async () => {
    const { init, file, simulator } = await newcomer()
    simulator.fail({ fault: faults.errorKey({ errorKey: 'limit_reached.x' }) })
    const { code, stderr } = await init('--zones', '101,900', '--destination', 'file')
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('the zones of account default cannot be listed: '),
    ])
    expect(parse(readFileSync(file, 'utf8'))).toMatchObject({ zones: [101, 900] })
  })

  test('writes nothing while the API cannot be reached', async () => {
    const { init, folder, simulator } = await newcomer()
    await simulator.close()
    const { code, stdout, stderr } = await init('--zones', '101', '--destination', 'file', '--yes')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/cannot be listed: .*refused.*; nothing was written: make the API reachable/)
    expect(readdirSync(folder)).toEqual(['key'])
  })

  test('writes a secret setting as the file that holds it', async () => {
    const { init, file, folder } = await newcomer()
    const args = [
      '--zones',
      '101',
      '--destination',
      'splunk-hec',
      '--url',
      'https://h:8088',
      '--set',
      'token=t0k',
    ]
    expect(await init(...args)).toMatchObject({ code: 0 })
    expect(parse(readFileSync(file, 'utf8'))).toMatchObject({
      sinks: [{ tokenFile: join(folder, 'splunk-hec-token.secret') }],
    })
    expect(loadConfig({ argv: { config: file }, env: {} }).config.sinks).toMatchObject([{ type: 'http' }])
  })

  test.each<[string, string[], RegExp]>([
    [
      'a pull zone',
      ['--zones', '500101', '--destination', 'file'],
      /--zones 500101 is the pull zone of shield zone 101; write 101 in its place/,
    ],
    [
      'an unknown zone',
      ['--zones', '101,999', '--destination', 'file'],
      /--zones 999 is not a zone of this account; available: 101, 102/,
    ],
    ['no zone', ['--zones', ',', '--destination', 'file'], /--zones names no zone/],
    [
      'an unknown destination',
      ['--zones', '101', '--destination', 'fil'],
      /--destination fil is unknown. Did you mean file\?/,
    ],
    ['a missing address', ['--zones', '101', '--destination', 'ndjson'], /--url is missing/],
    [
      'a bad address',
      ['--zones', '101', '--destination', 'ndjson', '--url', 'siem'],
      /--url "siem" is not an http or https URL/,
    ],
    [
      'an address for files',
      ['--zones', '101', '--destination', 'file', '--url', 'http://x'],
      /destination file has no url/,
    ],
    [
      'an unknown setting',
      ['--zones', '101', '--destination', 'file', '--set', 'compres=gzip'],
      /--set compres: destination file has no such setting; did you mean compress\?/,
    ],
    [
      'a bad value',
      ['--zones', '101', '--destination', 'file', '--set', 'rotate.maxBytes=big'],
      /--set rotate.maxBytes "big"/,
    ],
    [
      'a bad value of a section',
      ['--zones', '101', '--destination', 'file', '--set', 'poll.everySeconds=0'],
      /--set poll.everySeconds 0/,
    ],
    [
      'no assignment',
      ['--zones', '101', '--destination', 'file', '--set', 'index'],
      /--set takes PATH=VALUE/,
    ],
    ['zones as a setting', ['--zones', '101', '--destination', 'file', '--set', 'zones=1'], /use --zones/],
    [
      'a secret that no header takes',
      ['--zones', '101', '--destination', 'json', '--url', 'https://h/', '--set', 'headers.A=b\nc'],
      /--set headers.A /,
    ],
  ])('refuses %s in one clear error, and writes nothing', async (_, args, told) => {
    const { init, folder } = await newcomer()
    const { code, stdout, stderr } = await init(...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.match(/^error: /gm)).toHaveLength(1)
    expect(stderr).toMatch(told)
    expect(readdirSync(folder)).toEqual(['key'])
  })

  test('reports all missing options at once without a terminal', async () => {
    const { bare, folder } = await newcomer()
    expect(await bare()).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: this is not a terminal, so init cannot ask: give --access-key-file, --zones, --destination\n',
    })
    expect(
      await bare('--access-key-file', join(folder, 'none'), '--zones', '1', '--destination', 'file'),
    ).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--access-key-file') as unknown,
    })
  })

  test('refuses a key that the API refuses, and shows no part of it', async () => {
    const { init, folder, keyFile } = await newcomer()
    writeFileSync(keyFile, 'another-key')
    const { code, stderr } = await init('--zones', '101', '--destination', 'file')
    expect([code, stderr]).toEqual([1, expect.stringContaining('the API refuses the access key')])
    expect(stderr).not.toContain('another-key')
    expect(readdirSync(folder)).toEqual(['key'])
  })

  test('overwrites neither a configuration nor a secret', async () => {
    const { init, folder, file } = await newcomer()
    writeFileSync(file, 'mine')
    expect(await init('--zones', '101', '--destination', 'file')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${file} exists, and init overwrites nothing`) as unknown,
    })
    writeFileSync(join(folder, 'json-authorization.secret'), 'mine')
    const other = join(folder, 'other.yaml')
    const args = [
      '--zones',
      '101',
      '--destination',
      'json',
      '--url',
      'https://h/',
      '--set',
      'headers.Authorization=x',
    ]
    expect(await init('--file', other, ...args)).toMatchObject({ code: 1 })
    expect(readdirSync(folder).toSorted()).toEqual(['json-authorization.secret', 'key', 'shieldlog.yaml'])
    expect(readFileSync(join(folder, 'json-authorization.secret'), 'utf8')).toBe('mine')
  })

  test('reports the path that cannot be written', async () => {
    const { init, folder } = await newcomer()
    const file = join(folder, 'none', 'shieldlog.yaml')
    const { code, stderr } = await init('--file', file, '--zones', '101', '--destination', 'file')
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`${file} cannot be written: no such file or directory (ENOENT)`),
    ])
  })
})

describe('init escapes values that look like templates', () => {
  test('a folder whose name looks like one', async () => {
    const { init, folder } = await newcomer()
    const odd = join(folder, 'a${HOME}b')
    mkdirSync(odd)
    const file = join(odd, 'shieldlog.yaml')
    const args = ['--file', file, '--zones', '101', '--destination', 'file']
    expect(await init(...args)).toMatchObject({ code: 0 })
    const { config } = loadConfig({ argv: { config: file }, env: {}, cwd: folder })
    expect([config.state, config.sinks]).toMatchObject([
      { path: join(odd, 'var/shieldlog.db') },
      [{ path: join(odd, 'var/events') }],
    ])
  })

  test('a password that looks like one, and no error shows a part of it', async () => {
    const { file, folder, keyFile, simulator } = await newcomer()
    const args = ['init', '--access-key-file', keyFile, '--set', `api.baseUrl=${simulator.url}`]
    const more = ['--zones', '101', '--destination', 'ndjson', '--url', 'http://127.0.0.1:9/']
    const ask = async () => 'n'
    const typed = 'Bearer pa${ss}: "#\'w'
    const { code, stdout, stderr } = await executeWith(file, [...args, ...more], {
      ask,
      askHidden: async () => typed,
    })
    expect([code, (stdout + stderr).includes('pa${')]).toEqual([0, false])
    const secret = readdirSync(folder).find((name) => name.includes('authorization'))!
    expect(readFileSync(join(folder, secret), 'utf8')).toBe(`${typed}\n`)
    expect(statSync(join(folder, secret)).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).not.toContain('pa$')
    expect(await executeWith(file, ['check', '--offline'])).toMatchObject({ code: 0 })
  })
})

test('init does not write through a symbolic link', async () => {
  const { init, folder, file } = await newcomer()
  const target = join(folder, 'target')
  symlinkSync(target, file)
  const { code, stderr } = await init('--zones', '101', '--destination', 'file')
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`${file} cannot be written: file already exists (EEXIST)`),
  ])
  expect(existsSync(target)).toBe(false)
})

test('every kind of sink and every preset is a destination', () => {
  const types = Object.keys(sinks).filter((type) => type !== 'http')
  const known = destinations().map(({ name }) => name)
  expect(known.toSorted()).toEqual([...types, ...presets.map(({ name }) => name)].toSorted())
})
