import { gzipSync } from 'node:zlib'
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { FileAudit } from '../../../src/tasks/audit/audit-files.ts'
import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import { fakeKey, startFakeBucket } from '../../setup/fake-bucket.ts'
import { linesIn } from '../../sinks/objects/memory-store.ts'
import { openWorkshopWithApi } from '../workshop.ts'

const yesterday = shiftDay(dayOf(Date.now()), -1)
const ofDay = ['audit', '--zone', '101', '--day', yesterday]
const maxBytes = 65_536
/** Twice what three objects need: entries of some days are shorter. */
const events = 300

/** Of the objects with data. */
async function idsIn(objects: ReadonlyMap<string, { readonly body: Buffer }>): Promise<string[]> {
  const ids: string[] = []
  for (const [key, { body }] of objects)
    if (key.startsWith('shield_zone='))
      ids.push(...(await linesIn(key, body)).map((line) => (JSON.parse(line) as { id: string }).id))
  return ids
}

/** A zone whose yesterday lies in three objects or more. */
async function shipped(more: { readonly guarantee?: string; readonly file?: string } = {}) {
  const fake = await startFakeBucket()
  const lake = { name: 'lake', type: 's3', bucket: 'waf', endpoint: fake.url, maxBytes, ...fakeKey, ...more }
  const options = { days: events, pageSize: 10 }
  const shop = await openWorkshopWithApi(options, { zones: [101], sinks: [lake] })
  const run = await shop.execute('run', '--once')
  expect(run.code, run.stderr).toBe(0)
  const folder = `shield_zone=101/day=${yesterday}/`
  const keys = () => [...fake.objects.keys()].filter((key) => key.startsWith(folder)).sort()
  expect(keys().length).toBeGreaterThan(2)
  const linesOf = async (key: string) => await linesIn(key, fake.objects.get(key)!.body)
  const ids = async () => idsIn(new Map(keys().map((key) => [key, fake.objects.get(key)!])))
  async function deep(...more: string[]) {
    const { code, stdout, stderr } = await shop.execute(...ofDay, '--deep', '--json', ...more)
    const { files } = JSON.parse(stdout) as { readonly files: readonly FileAudit[] }
    return { code, stderr, file: files[0]! }
  }
  const wanted = shop.simulator.entries(101, yesterday).map(({ logId }) => logId)
  return { fake, lake, shop, folder, keys, linesOf, ids, deep, wanted: wanted.toSorted() }
}

test('objects are compared line by line; a repair ships what a lost one held, whose number stays missing', async () => {
  const { fake, shop, keys, linesOf, ids, deep, wanted } = await shipped()
  const before = await deep()
  expect(before.code, before.stderr).toBe(0)
  expect(before.file).toMatchObject({ isEqual: true, lines: events, ledger: events, parts: [] })

  const [, lost] = keys() as [string, string]
  const held = (await linesOf(lost)).length
  fake.objects.delete(lost)
  const plain = await shop.execute(...ofDay)
  expect(plain.code).toBe(1)
  expect(plain.stdout).toContain('files differ')
  const differs = await deep()
  const part = /[^/]+-000002(?=\.)/.exec(lost)![0]
  expect([differs.code, differs.file.missing]).toEqual([1, held])
  expect(differs.file.parts).toEqual([{ part, problem: 'missing', object: 2, why: 'the object is gone' }])

  const stored = new Map(fake.objects)
  const repaired = await deep('--repair')
  expect(repaired.code, repaired.stderr).toBe(0)
  expect(repaired.file).toMatchObject({ isEqual: true, restored: held, lines: events, ledger: events })
  expect(repaired.file.parts).toMatchObject([{ part, problem: 'missing', isRepaired: true }])
  expect((await ids()).toSorted()).toEqual(wanted)
  for (const [key, object] of stored) expect(fake.objects.get(key)).toBe(object)
  expect((await deep()).code).toBe(0)
})

test('a damaged object, one of another store and one that no commit has are named', async () => {
  const { fake, folder, keys, linesOf, deep } = await shipped()
  const [first, second] = keys() as [string, string]
  const object = fake.objects.get(first)!
  const text = await linesOf(first)
  fake.objects.set(first, { ...object, body: object.body.subarray(0, object.body.length - 9) })
  fake.objects.set(second, {
    ...object,
    body: gzipSync(`${[...(await linesOf(second)).slice(1), 'no event'].join('\n')}\n`),
  })
  fake.objects.set(`${folder}other-000001.ndjson.gz`, { ...object, body: gzipSync(`${text[0]}\n`) })
  const beyond = first.replace('-000001.', '-000009.')
  fake.objects.set(beyond, object)
  const { code, file } = await deep()
  expect(code).toBe(1)
  expect(file.problems).toMatchObject({ damaged: 1, unreadable: 1 })
  expect(file.missing).toBeGreaterThan(0)
  const why = 'written under another state, which was lost or replaced'
  expect(file.foreign).toEqual([{ why, parts: 1, lines: 1 }])
  const sizes = expect.objectContaining({
    problem: 'changed',
    why: 'an object of another size has its place',
  })
  expect(file.parts.filter(({ problem }) => problem === 'changed')).toEqual([sizes, sizes])
  expect(file.parts.filter(({ problem }) => problem !== 'changed')).toEqual([
    { part: beyond.slice(folder.length), problem: 'unknown', why: expect.stringContaining('adopts it') },
    { part: 'other-000001.ndjson.gz', problem: 'foreign', why },
  ])
})

test('an object of another size is named without --deep; a repair ships what it lacks and takes its size', async () => {
  const { fake, shop, keys, linesOf, ids, deep, wanted } = await shipped()
  const [, second] = keys() as [string, string]
  const object = fake.objects.get(second)!
  const body = gzipSync(`${(await linesOf(second)).slice(1).join('\n')}\n`)
  fake.objects.set(second, { ...object, body })
  const plain = await shop.execute(...ofDay)
  expect(plain.code).toBe(1)
  const committed = object.body.length.toLocaleString('en')
  expect(plain.stdout.replaceAll(/\s+/g, ' ')).toContain(
    `-000002.ndjson.gz is changed (${committed} bytes committed, ${body.length.toLocaleString('en')} found)`,
  )
  const repaired = await deep('--repair')
  expect(repaired.code, repaired.stderr).toBe(0)
  expect(repaired.file).toMatchObject({ isEqual: true, restored: 1, lines: events, parts: [] })
  expect((await ids()).toSorted()).toEqual(wanted)
})

test('Parquet objects are read as the lines that they stand for: compared, repaired, shipped elsewhere', async () => {
  const { fake, lake, shop, keys, linesOf, ids, deep, wanted } = await shipped({ file: 'parquet' })
  expect(keys().every((key) => key.endsWith('.parquet'))).toBe(true)
  expect((await deep()).file).toMatchObject({ isEqual: true, lines: events, ledger: events, parts: [] })
  const [first, second] = keys() as [string, string]
  const held = (await linesOf(second)).length
  fake.objects.delete(second)
  expect((await deep('--repair')).file).toMatchObject({ isEqual: true, restored: held, lines: events })
  expect((await ids()).toSorted()).toEqual(wanted)

  const object = fake.objects.get(first)!
  const damaged = Buffer.concat([object.body.subarray(0, 40), Buffer.alloc(object.body.length - 40)])
  fake.objects.set(first, { ...object, body: damaged })
  const { code, file } = await deep()
  expect([code, file.problems.damaged]).toEqual([1, 1])
  fake.objects.set(first, object)

  const copy = { name: 'copy', type: 'file', path: `${shop.folder}/copy` }
  shop.configure({
    zones: [101],
    sinks: [lake, copy],
    poll: { firstRunDays: 1 },
    api: { baseUrl: shop.simulator.url, accessKey: 'none' },
  })
  const days = ['--from', yesterday, '--to', yesterday]
  const ended = await shop.execute('backfill', '--source', 'lake', '--sink', 'copy', ...days)
  expect(ended.code, ended.stderr).toBe(0)
  const parts = globSync(`${copy.path}/*/*/*.ndjson`)
  const copied = parts.flatMap((part) => readFileSync(part, 'utf8').trimEnd().split('\n'))
  const lines = (await Promise.all(keys().map(linesOf))).flat()
  expect(copied.toSorted()).toEqual(lines.toSorted())
})

test('with at-least-once, what objects repeat is counted, and is no difference', async () => {
  const { fake, shop, keys, linesOf, deep } = await shipped({ guarantee: 'at-least-once' })
  const [first] = keys() as [string]
  const repeated = (await linesOf(first)).length
  const object = fake.objects.get(first)!
  fake.objects.set(first.replace(/-[\da-f]{16}\./, '-0123456789abcdef.'), object)
  fake.objects.set(first.replace('-000001-', '-000009-'), object)
  const { code, file } = await deep()
  expect(code).toBe(0)
  expect(file).toMatchObject({ isEqual: true, lines: events + repeated, ledger: events, repeated })
  expect(file.problems).toMatchObject({ doubled: 0, unknown: 0 })
  expect(file.parts).toMatchObject([{ problem: 'unknown', isRepeat: true }])
  const { stdout } = await shop.execute(...ofDay, '--deep')
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `${repeated} of these lines repeat an event (at-least-once)`,
  )
})

test('objects serve as a source: backfill ships their events to another sink, top counts them', async () => {
  const { lake, shop, wanted } = await shipped()
  const copy = await startFakeBucket({ bucket: 'copy' })
  const other = { ...lake, name: 'copy', bucket: 'copy', endpoint: copy.url }
  shop.configure({
    zones: [101],
    sinks: [lake, other],
    // A day that polls read for the sink is left out.
    poll: { firstRunDays: 1 },
    api: { baseUrl: shop.simulator.url, accessKey: 'none' },
  })
  const days = ['--from', yesterday, '--to', yesterday]
  const ended = await shop.execute('backfill', '--source', 'lake', '--sink', 'copy', ...days)
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.stdout).toMatch(new RegExp(`^${events} events shipped, 0 already there, in `))
  expect((await idsIn(copy.objects)).toSorted()).toEqual(wanted)

  const top = await shop.execute('top', '--source', 'lake', '--since', '72h')
  expect(top.code, top.stderr).toBe(0)
  expect(top.stderr).toMatch(/ [1-9]\d* events\./)
})

test.each([
  ['s3:ListBucket', ''],
  ['s3:GetObject', 'shield_zone='],
])('without %s nothing is compared, and the right is named', async (right, prefix) => {
  const { fake, shop } = await shipped()
  fake.fault = ({ method, key }) =>
    method === 'GET' && (prefix === '' ? key === '' : key.startsWith(prefix))
      ? { status: 403, code: 'AccessDenied' }
      : undefined
  const { code, stderr } = await shop.execute(...ofDay, '--deep', '--repair')
  expect(code).toBe(3)
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(`allow these credentials ${right} on arn:aws:s3:::waf`)
})
