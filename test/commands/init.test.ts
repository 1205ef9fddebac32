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
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { destinations } from '../../src/commands/init/draft.ts'
import { loadConfig } from '../../src/config/load.ts'
import { presets } from '../../src/sinks/http/presets/registry.ts'
import { sinks } from '../../src/sinks/registry.ts'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { printed } from '../config/loading.ts'
import { temporaryFolder } from '../setup/temp.ts'
import * as faults from '../simulator/faults.ts'
import { executeWith } from './workshop.ts'

const accessKey = 'the-key-of-the-account'

/** A folder with a key file, and an account to connect to; `init` adds what every call needs. */
async function newcomer(options: SimulatorOptions = {}) {
  const simulator = await startSimulator({ zones: [101, 102], accessKey, ...options })
  onTestFinished(() => simulator.close())
  const folder = temporaryFolder()
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, `${accessKey}\n`)
  const file = join(folder, 'shieldlog.yaml')
  const base = ['init', '--set', `api.baseUrl=${simulator.url}`]
  const keyed = [...base, '--access-key-file', keyFile]
  return {
    folder,
    file,
    simulator,
    keyFile,
    written: () => readFileSync(file, 'utf8'),
    loaded: () => loadConfig({ argv: { config: file }, env: {}, cwd: folder }),
    bare: (args: string) => executeWith(file, [...base, ...args.split(' ')]),
    /** `args` are words; `more` may hold spaces. */
    init: (args: string, ...more: string[]) => executeWith(file, [...keyed, ...args.split(' '), ...more]),
    typing: (answer: string, args: string) =>
      executeWith(file, [...keyed, ...args.split(' ')], {
        ask: async () => 'n',
        askHidden: async () => answer,
      }),
  }
}

test('writes a commented configuration that passes check and that only its owner can read', async () => {
  const { init, file, folder, keyFile, written } = await newcomer()
  // Other tests use the usual port at the same time.
  const { code, stdout, stderr } = await init('--zones 102,101 --destination file --set server.port=0')
  expect([code, stderr]).toEqual([0, 'Key accepted.\n'])
  expect(stdout).toContain(`check -c ${file}`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(written().match(/^# /gm)?.length).toBeGreaterThan(4)
  expect(parse(written())).toMatchObject({
    api: { accessKeyFile: keyFile },
    zones: [102, 101],
    state: `sqlite:${join(folder, 'var/shieldlog.db')}`,
    sinks: [{ name: 'archive', type: 'file', path: join(folder, 'var/events') }],
  })
  expect(await executeWith(file, ['check'])).toMatchObject({ code: 0 })
})

test('the settings in the comments of the file are valid', async () => {
  const { init, file, written, loaded } = await newcomer({ zones: [7, 101] })
  await init('--zones all --destination stdout')
  expect(parse(written())).toMatchObject({ zones: 'all', sinks: [{ name: 'stdout' }] })
  const [before = '', suggested = ''] = written().split('# More settings, with their defaults:\n')
  expect(suggested).toMatch(/^# poll: .*\n# server: /)
  writeFileSync(file, before + suggested.replaceAll(/^# /gm, ''))
  expect(printed(loaded())).toMatch(/port: 9871 # file/)
})

test('writes secrets to separate files, and the other settings with their types', async () => {
  const { init, folder, written, loaded } = await newcomer()
  const { code } = await init(
    '--zones 101 --destination ndjson --url https://siem.example/in?a=${A:-b} --set batch.maxEvents=5 --set poll.everySeconds=7.5 --set name=hook',
    '--set',
    'headers.Authorization=Bearer s3cret=',
  )
  expect(code).toBe(0)
  const secret = join(folder, 'ndjson-authorization.secret')
  expect([readFileSync(secret, 'utf8'), statSync(secret).mode & 0o777]).toEqual(['Bearer s3cret=\n', 0o600])
  expect(written()).not.toContain('s3cret')
  const { config } = loaded()
  expect(config.poll.everySeconds).toBe(7.5)
  expect(config.sinks).toMatchObject([
    { name: 'hook', url: 'https://siem.example/in?a=b', batch: { maxEvents: 5 } },
  ])
})

test('writes a secret setting as the file that holds it', async () => {
  const { init, folder, written, loaded } = await newcomer()
  await init('--zones 101 --destination splunk-hec --url https://h:8088 --set token=t0k')
  const tokenFile = join(folder, 'splunk-hec-token.secret')
  expect(parse(written())).toMatchObject({ sinks: [{ tokenFile }] })
  // Not named after its preset.
  expect(loaded().config.sinks).toMatchObject([{ name: 'siem', type: 'http' }])
})

test('accepts ids without a check if the zones cannot be listed, and reports that', async () => {
  const { init, written, simulator } = await newcomer()
  simulator.fail({ fault: faults.errorKey({ errorKey: 'limit_reached.x' }) })
  const { code, stderr } = await init('--zones 101,900 --destination file')
  expect([code, stderr]).toEqual([0, expect.stringContaining('zones of account default cannot be listed: ')])
  expect(parse(written())).toMatchObject({ zones: [101, 900] })
})

test('writes nothing while the API cannot be reached', async () => {
  const { init, folder, simulator } = await newcomer()
  await simulator.close()
  const { code, stdout, stderr } = await init('--zones 101 --destination file --yes')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/cannot be listed: .*refused.*; nothing was written: make the API reachable/)
  expect(readdirSync(folder)).toEqual(['key'])
})

const files = '--zones 101 --destination file'

test.each([
  [
    '--zones 500101 --destination file',
    /--zones 500101 is the pull zone of shield zone 101; write 101 in its/,
  ],
  ['--zones 101,999 --destination file', /--zones 999 is not a zone of this account; available: 101, 102/],
  ['--zones , --destination file', /--zones names no zone/],
  ['--zones 101 --destination fil', /--destination fil is unknown; did you mean file\?/],
  ['--zones 101 --destination ndjson', /url is missing/],
  ['--zones 101 --destination ndjson --url siem', /url "siem" is not an http or https URL/],
  [`${files} --url http://x`, /url is not a setting/],
  [`${files} --set compres=gzip`, /compres is not a setting; did you mean compress\?/],
  [`${files} --set rotate.maxBytes=big`, /rotate.maxBytes "big" is text; write a whole number/],
  [`${files} --set poll.everySeconds=0`, /poll.everySeconds 0 is too small/],
  [`${files} --set index`, /--set takes PATH=VALUE/],
  [`${files} --set zones=1`, /use --zones/],
  ['--zones 101 --destination json --url https://h/ --set headers.A=b\nc', /headers.A is empty, begins or/],
  [`${files} --access-key-file none`, /accessKeyFile uses .*none, which cannot be read/],
])('refuses %s in one clear error, and writes nothing', async (args, told) => {
  const { init, folder } = await newcomer()
  const { code, stdout, stderr } = await init(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr.match(/^error: /gm)).toHaveLength(1)
  expect(stderr).toMatch(told)
  expect(readdirSync(folder)).toEqual(['key'])
})

test('reports all missing options at once without a terminal', async () => {
  const { bare } = await newcomer()
  expect(await bare('--yes')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: this is not a terminal, so init cannot ask: give --access-key-file, --zones, --destination\n',
  })
})

test('refuses a key that the API refuses, and shows no part of it', async () => {
  const { init, folder, keyFile } = await newcomer()
  writeFileSync(keyFile, 'another-key')
  const { code, stderr } = await init(files)
  expect([code, stderr]).toEqual([1, expect.stringContaining('the API refuses the access key')])
  expect(stderr).not.toContain('another-key')
  expect(readdirSync(folder)).toEqual(['key'])
})

test('overwrites neither a configuration nor a secret, and does not write through a symbolic link', async () => {
  const { init, folder, file } = await newcomer()
  const refused = (why: string) => ({ code: 1, stderr: expect.stringContaining(why) as unknown })
  writeFileSync(file, 'mine')
  expect(await init(files)).toMatchObject(refused(`${file} exists, and init overwrites nothing`))
  const secret = join(folder, 'json-authorization.secret')
  writeFileSync(secret, 'mine')
  const json = '--zones 101 --destination json --url https://h/ --set headers.Authorization=x'
  const other = join(folder, 'other.yaml')
  expect(await init(`--file ${other} ${json}`)).toMatchObject({ code: 1 })
  expect([existsSync(other), readFileSync(secret, 'utf8'), readFileSync(file, 'utf8')]).toEqual([
    false,
    'mine',
    'mine',
  ])
  const [link, target] = [join(folder, 'link.yaml'), join(folder, 'target')]
  symlinkSync(target, link)
  const why = `${link} cannot be written: file already exists (EEXIST)`
  expect(await init(`--file ${link} ${files}`)).toMatchObject(refused(why))
  expect(existsSync(target)).toBe(false)
  const none = join(folder, 'none', 'shieldlog.yaml')
  const absent = `${none} cannot be written: no such file or directory (ENOENT)`
  expect(await init(`--file ${none} ${files}`)).toMatchObject(refused(absent))
})

test('escapes a folder whose name looks like a template', async () => {
  const { init, folder } = await newcomer()
  const odd = join(folder, 'a${HOME}b')
  mkdirSync(odd)
  const file = join(odd, 'shieldlog.yaml')
  expect(await init(`--file ${file} ${files}`)).toMatchObject({ code: 0 })
  const { config } = loadConfig({ argv: { config: file }, env: {}, cwd: folder })
  expect([config.state, config.sinks]).toMatchObject([
    { path: join(odd, 'var/shieldlog.db') },
    [{ path: join(odd, 'var/events') }],
  ])
})

test('takes a password that looks like a template as it is, and shows no part of it in an error', async () => {
  const { typing, folder, written, file } = await newcomer()
  const typed = 'Bearer pa${ss}: "#\'w'
  const { code, stdout, stderr } = await typing(
    typed,
    '--zones 101 --destination ndjson --url http://127.0.0.1:9/',
  )
  expect([code, (stdout + stderr).includes('pa${')]).toEqual([0, false])
  const secret = readdirSync(folder).find((name) => name.includes('authorization'))!
  expect(readFileSync(join(folder, secret), 'utf8')).toBe(`${typed}\n`)
  expect(written()).not.toContain('pa$')
  expect(await executeWith(file, ['check', '--offline'])).toMatchObject({ code: 0 })
})

test('every kind of sink and every preset is a destination', () => {
  const types = Object.keys(sinks).filter((type) => type !== 'http')
  const known = destinations().map(({ name }) => name)
  expect(known.toSorted()).toEqual([...types, ...presets.map(({ name }) => name)].toSorted())
})
