import { existsSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Io } from '../../src/terminal/io.ts'
import { destinations } from '../../src/tasks/init/draft.ts'
import { loadConfig } from '../../src/config/load.ts'
import { presets } from '../../src/sinks/http/presets/registry.ts'
import { sinks } from '../../src/sinks/registry.ts'
import * as faults from '../simulator/faults.ts'
import { accessKey, executeWith, openWorkshopWithApi } from './workshop.ts'

type Newcomer = Awaited<ReturnType<typeof newcomer>>

/** A folder with a key file, and an account to connect to; `init` adds what every call needs. */
async function newcomer() {
  const { folder, simulator } = await openWorkshopWithApi()
  const [file, keyFile] = [join(folder, 'shieldlog.yaml'), join(folder, 'key')]
  rmSync(file)
  writeFileSync(keyFile, `${accessKey}\n`)
  const base = `init --set api.baseUrl=${simulator.url}`
  return {
    folder,
    file,
    simulator,
    keyFile,
    written: () => readFileSync(file, 'utf8'),
    loaded: (path = file) => loadConfig({ argv: { config: path }, env: {}, cwd: folder }),
    bare: (args: string) => executeWith(file, `${base} ${args}`.split(' ')),
    /** `args` are words; `more` may hold spaces. */
    init: (args: string, more: readonly string[] = [], io: Partial<Io> = {}) =>
      executeWith(file, [...`${base} --access-key-file ${keyFile} ${args}`.split(' '), ...more], io),
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

test('writes secrets to separate files, and the other settings with their types', async () => {
  const { init, folder, written, loaded } = await newcomer()
  const { code } = await init(
    '--zones 101 --destination ndjson --url https://siem.example/in?a=${A:-b} --set batch.maxEvents=5 --set poll.everySeconds=7.5 --set name=hook',
    ['--set', 'headers.Authorization=Bearer s3cret='],
  )
  expect(code).toBe(0)
  // Named as the sink is.
  const secret = join(folder, 'hook-headers-authorization.secret')
  expect([readFileSync(secret, 'utf8'), statSync(secret).mode & 0o777]).toEqual(['Bearer s3cret=\n', 0o600])
  expect(written()).not.toContain('s3cret')
  const { poll, sinks: loadedSinks } = loaded().config
  expect(poll.everySeconds).toBe(7.5)
  const url = 'https://siem.example/in?a=b'
  expect(loadedSinks).toMatchObject([{ name: 'hook', url, batch: { maxEvents: 5 } }])
})

test('writes a secret setting as the file that holds it', async () => {
  const { init, folder, written } = await newcomer()
  await init('--zones all --destination splunk-hec --url https://h:8088 --set token=t0k')
  const tokenFile = join(folder, 'siem-token.secret')
  // Not named after its preset.
  const sink = { name: 'siem', type: 'http', tokenFile }
  expect(parse(written())).toMatchObject({ zones: 'all', sinks: [sink] })
})

test('accepts ids without a check if the zones cannot be listed, and reports that', async () => {
  const { init, written, simulator } = await newcomer()
  simulator.fail({ fault: faults.errorKey({ errorKey: 'limit_reached.x' }) })
  const { code, stderr } = await init('--zones 101,900 --destination file')
  expect([code, stderr]).toEqual([0, expect.stringContaining('zones of account default cannot be listed: ')])
  expect(parse(written())).toMatchObject({ zones: [101, 900] })
})

const files = '--zones 101 --destination file'

test.each([
  [
    'cannot be reached',
    async ({ simulator }: Newcomer) => simulator.close(),
    /cannot be listed: .*refused.*; nothing was written: make the API reachable/,
  ],
  [
    'refuses the key',
    async ({ keyFile }: Newcomer) => writeFileSync(keyFile, 'another-key'),
    /the API refuses the access key/,
  ],
])('writes nothing while the API %s', async (_, prepare, told) => {
  const world = await newcomer()
  await prepare(world)
  const { code, stdout, stderr } = await world.init(`${files} --yes`)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(told)
  expect(stderr).not.toContain('another-key')
  expect(readdirSync(world.folder)).toEqual(['key'])
})

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

test('overwrites neither a configuration nor a secret, and does not write through a symbolic link', async () => {
  const { init, folder, file } = await newcomer()
  const at = (name: string) => join(folder, name)
  const [secret, other, link, absent] = [
    at('siem-headers-authorization.secret'),
    at('other.yaml'),
    at('link.yaml'),
    at('none/shieldlog.yaml'),
  ]
  for (const path of [file, secret]) writeFileSync(path, 'mine')
  symlinkSync(at('target'), link)
  const json = '--zones 101 --destination json --url https://h/ --set headers.Authorization=x'
  for (const [path, args, why] of [
    [file, files, `${file} exists, and init overwrites nothing`],
    [other, json, `${secret} cannot be written: file already exists (EEXIST). Remove it, or name another`],
    [link, files, `${link} cannot be written: file already exists (EEXIST)`],
    [absent, files, `${absent} cannot be written: no such file or directory (ENOENT)`],
  ] as const) {
    const { code, stderr } = await init(`--file ${path} ${args}`)
    expect([code, stderr]).toEqual([1, expect.stringContaining(why)])
  }
  expect([file, secret].map((path) => readFileSync(path, 'utf8'))).toEqual(['mine', 'mine'])
  expect([other, at('target')].filter((path) => existsSync(path))).toEqual([])
})

/** Says nothing where a secret is asked for. */
const answering = (answers: string[]) => async (_: string, isSecret?: boolean) =>
  isSecret === true ? '' : (answers.shift() ?? 'n')

test('takes a password that looks like a template as it is, and shows no part of it in an error', async () => {
  const { init, folder, written, file } = await newcomer()
  const typed = 'Bearer pa${ss}: "#\'w'
  const io = { ask: async (_: string, isSecret?: boolean) => (isSecret === true ? typed : 'n') }
  const { code, stdout, stderr } = await init(
    '--zones 101 --destination ndjson --url http://127.0.0.1:9/',
    [],
    io,
  )
  expect([code, (stdout + stderr).includes('pa${')]).toEqual([0, false])
  const secret = readdirSync(folder).find((name) => name.includes('authorization'))!
  expect(readFileSync(join(folder, secret), 'utf8')).toBe(`${typed}\n`)
  expect(written()).not.toContain('pa$')
  expect(await executeWith(file, ['check', '--offline'])).toMatchObject({ code: 0 })
})

test('asks where a bucket is, and again while neither endpoint nor region says so', async () => {
  const { init, loaded } = await newcomer()
  const asked = ['lake', 'waf', '', '', 'eu-central-1']
  const io = { ask: answering(asked) }
  const { code, stderr } = await init('--zones 101 --destination s3', [], io)
  expect([code, stderr.match(/region is missing; .* endpoint/g)]).toMatchObject([0, { length: 1 }])
  expect(loaded().config.sinks).toMatchObject([{ name: 'lake', bucket: 'waf', region: 'eu-central-1' }])
})

test('every kind of sink and every preset is a destination', () => {
  const types = Object.keys(sinks).filter((type) => type !== 'http')
  const known = destinations().map(({ name }) => name)
  expect(known.toSorted()).toEqual([...types, ...presets.map(({ name }) => name)].toSorted())
})
