import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { StreamAudit } from '../../../src/tasks/audit/audit-day.ts'
import type { FileAudit } from '../../../src/tasks/audit/audit-files.ts'
import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import type { CommittedPart } from '../../../src/domain/event/delivery.ts'
import type { Gap } from '../../../src/domain/stream.ts'
import { editCheckpoints, inStore } from '../../setup/stores.ts'
import { readParts } from '../../sinks/file/samples.ts'
import { accessKey, openWorkshopWithApi } from '../workshop.ts'

const yesterday = shiftDay(dayOf(Date.now()), -1)
const events = 40
const none = { unreadable: 0, unknown: 0, doubled: 0, torn: 0, damaged: 0 }
const ofDay = ['audit', '--zone', '101', '--day', yesterday, '--deep']

type Shop = Awaited<ReturnType<typeof openWorkshopWithApi>>

async function shipped(): Promise<Shop> {
  const shop = await openWorkshopWithApi({ days: events, pageSize: 10 }, { zones: [101] })
  expect((await shop.execute('run', '--once')).code).toBe(0)
  return shop
}

async function deep(shop: Shop, ...more: string[]) {
  const ended = await shop.execute(...ofDay, '--json', ...more)
  const report = JSON.parse(ended.stdout || '{}') as {
    readonly isEqual: boolean
    readonly missing: number
    readonly extra: number
    readonly streams: readonly StreamAudit[]
    readonly files: readonly FileAudit[]
  }
  return { ...ended, report, file: report.files?.[0] as FileAudit }
}

const folderOf = ({ folder }: Shop) => join(folder, 'events', 'shield_zone=101', `day=${yesterday}`)
const pathOf = (shop: Shop) => join(folderOf(shop), readdirSync(folderOf(shop)).sort()[0]!)
const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)
/** The same length: the store would notice another one. */
const altered = (line: string) =>
  line.replace(/"id":"(.)/, (_, first) => `"id":"${first === 'x' ? 'y' : 'x'}`)

function edit(path: string, change: (lines: string[]) => readonly string[]): void {
  writeFileSync(path, `${change(linesOf(path)).join('\n')}\n`)
}

/** The shortest line stands at the end instead of the longest; blanks, which JSON does not mind, make up for its length. */
function repeatedAtEnd(lines: readonly string[]): string[] {
  const byLength = lines.toSorted((one, other) => one.length - other.length)
  const [shortest, longest] = [byLength[0]!, byLength.at(-1)!]
  const blanks = ' '.repeat(longest.length - shortest.length)
  return [...lines.filter((line) => line !== longest), `${shortest.slice(0, -1)}${blanks}}`]
}

/** Each event that the API has stands in one line. */
async function expectWhole({ folder, simulator }: Shop): Promise<void> {
  const ids: string[] = []
  for await (const line of readParts(join(folder, 'events'), 101, yesterday))
    ids.push((JSON.parse(line) as { id: string }).id)
  const wanted = simulator.entries(101, yesterday).map(({ logId }) => logId)
  expect(ids.sort()).toEqual(wanted.sort())
}

const ofYesterday = { zone: 101, day: yesterday, sink: 'archive' }
const databaseOf = ({ folder }: Shop) => join(folder, 'var', 'shieldlog.db')

/** Changes the committed lengths of yesterday's checkpoint; `lastLine` is the length of the last line. */
function changeCommitted(shop: Shop, change: (bytes: number, lastLine: number) => number | undefined): void {
  const last = linesOf(pathOf(shop)).at(-1)!.length + 1
  editCheckpoints(databaseOf(shop), (body, key) => {
    if (!key.includes(yesterday)) return body
    const { committed } = body as { readonly committed: readonly CommittedPart[] }
    const changed = committed.flatMap((part) => {
      const bytes = change(part.bytes, last)
      return bytes === undefined ? [] : [{ ...part, bytes }]
    })
    return { ...body, committed: changed }
  })
}

/** Harms files or the state, and tells what the audit has to find; the API and the ledger tell the same all the while. */
interface Case {
  readonly name: string
  readonly harm: (path: string, shop: Shop) => void
  readonly missing: number
  readonly problems?: Partial<FileAudit['problems']>
  /** Line numbers of the problems. */
  readonly lines?: readonly number[]
  readonly part?: string
  /** What a repair does not remove: the bad lines. */
  readonly stays?: boolean
}

const cases: readonly Case[] = [
  {
    name: 'a line whose id was altered',
    harm: (path) => edit(path, (lines) => lines.with(6, altered(lines[6]!))),
    missing: 1,
    problems: { unknown: 1 },
    lines: [7],
    stays: true,
  },
  {
    name: 'a line that stands in the place of another',
    harm: (path) => edit(path, repeatedAtEnd),
    missing: 1,
    problems: { doubled: 1 },
    lines: [40],
    stays: true,
  },
  {
    name: 'a line that nobody can read',
    harm: (path) => edit(path, (lines) => lines.with(9, lines[9]!.replaceAll('"', '.'))),
    missing: 1,
    problems: { unreadable: 1 },
    lines: [10],
    stays: true,
  },
  {
    name: 'a part that lost its end, within a line',
    harm(path) {
      const text = readFileSync(path)
      writeFileSync(path, text.subarray(0, text.length - linesOf(path).at(-1)!.length - 20))
    },
    missing: 2,
    problems: { torn: 1 },
    lines: [events - 1],
    part: 'short',
  },
  {
    name: 'a last line that lost its end, and stayed as long',
    harm: (path) => writeFileSync(path, readFileSync(path, 'utf8').replace(/\n$/, ' ')),
    missing: 1,
    problems: { torn: 1 },
    lines: [events],
  },
  { name: 'a part that is gone', harm: (path) => rmSync(path), missing: events, part: 'missing' },
  {
    name: 'lines beyond what is committed',
    harm: (path) => appendFileSync(path, '{"v":1,"id":"more","time":"2026-11-19T00:00:00.000Z"}\n'),
    missing: 0,
    part: 'longer',
  },
  {
    name: 'a committed length that was raised',
    harm: (_, shop) => changeCommitted(shop, (bytes) => bytes + 100),
    missing: 0,
    part: 'short',
  },
  {
    name: 'a committed length that ends within a line',
    harm: (_, shop) => changeCommitted(shop, (bytes, lastLine) => bytes - lastLine + 20),
    missing: 1,
    problems: { torn: 1 },
    lines: [events],
    part: 'longer',
  },
  {
    name: 'a committed length that is gone',
    harm: (_, shop) => changeCommitted(shop, () => undefined),
    missing: events,
    part: 'unknown',
  },
]

test.for(cases)(
  'finds and repairs $name',
  async ({ harm, missing, problems = {}, lines = [], part, stays = false }) => {
    const shop = await shipped()
    harm(pathOf(shop), shop)
    const found = await deep(shop)
    expect(found.code).toBe(1)
    expect(found.report).toMatchObject({ isEqual: false, missing: 0, extra: 0 })
    expect(found.file).toMatchObject({ isEqual: false, missing, problems: { ...none, ...problems } })
    expect(found.file.badLines.map(({ line }) => line)).toEqual(lines)
    expect(found.file.parts.map(({ problem }) => problem)).toEqual(part === undefined ? [] : [part])
    expect(found.file.minutes.reduce((sum, minute) => sum + minute.missing, 0)).toBe(missing)

    const repaired = await deep(shop, '--repair')
    expect(repaired.file).toMatchObject({ missing: 0, restored: missing })
    expect(repaired.code).toBe(stays ? 1 : 0)
    expect(repaired.stderr).toContain(`repairing zone 101 on ${yesterday} → archive\n`)
    if (stays) expect(repaired.file.badLines.map(({ line }) => line)).toEqual(lines)
    else await expectWhole(shop)
    // A second repair finds nothing more to write.
    const again = await deep(shop, '--repair')
    expect([again.code, again.file.missing, again.file.restored ?? 0]).toEqual([stays ? 1 : 0, 0, 0])
  },
)

test('finds no difference in intact files; else names part, line and event, and the command that repairs it', async () => {
  const shop = await shipped()
  const path = pathOf(shop)
  const whole = await shop.execute(...ofDay)
  const sum = `the API lists ${events} events; files have ${events} lines; 0 missing`
  expect([whole.code, whole.stdout]).toEqual([0, expect.stringMatching(`^ .*\n101  ok\n\n.*: ${sum}`)])
  const { report, file } = await deep(shop)
  expect([report.isEqual, file]).toMatchObject([true, { lines: events, ledger: events, problems: none }])
  const { id } = JSON.parse(linesOf(path)[6]!) as { id: string }
  edit(path, (lines) => lines.with(6, altered(lines[6]!)))
  const { stdout } = await shop.execute(...ofDay)
  for (const part of [
    `part ${path.slice(folderOf(shop).length + 1)} line 7 is unknown, event [xy]${id.slice(1)} of `,
    '^101 {2}files differ$',
    ': the files hold 40 lines, .* 40 events\\. Events without a line: 1 at ..:..\\. Bad lines: 1 unknown\\.$',
    '^To repair: .* --deep --repair$',
    // The last line, which is often all that is read, must not say only that nothing is missing.
    `files have ${events} lines and lack 1; 0 missing`,
  ])
    expect(stdout).toMatch(new RegExp(part, 'm'))
})

test('offers no repair of a part that may be on another host: without the folder of its writer nobody knows', async () => {
  const shop = await shipped()
  rmSync(join(shop.folder, 'events'), { recursive: true })
  const { stdout } = await shop.execute(...ofDay)
  expect(stdout).toContain('it is on a disk of another host\n')
  expect(stdout.replaceAll('\n', ' ')).toContain('may be on another host: audit where the files are.')
  expect(stdout).not.toContain('--repair')
  expect((await deep(shop, '--repair')).file).toMatchObject({ isEqual: false, restored: 0, lines: 0 })
})

test.for([
  ['gz', gzipSync],
  ['zst', (bytes: Buffer) => zstdCompressSync(bytes)],
] as const)(
  'compressed parts (.%s) are read like plain parts, and their damage is found',
  async ([suffix, compress]) => {
    const shop = await shipped()
    const path = pathOf(shop)
    const text = readFileSync(path, 'utf8')
    rmSync(path)
    writeFileSync(`${path}.${suffix}`, compress(Buffer.from(text)))
    expect((await deep(shop)).file).toMatchObject({ isEqual: true, lines: events })
    const lines = text.split('\n')
    writeFileSync(`${path}.${suffix}`, compress(Buffer.from(lines.with(4, altered(lines[4]!)).join('\n'))))
    expect((await deep(shop)).file).toMatchObject({
      missing: 1,
      problems: { ...none, unknown: 1 },
      badLines: [{ line: 5, problem: 'unknown' }],
    })
    const packed = compress(Buffer.from(text))
    packed.fill(0, packed.length - 400, packed.length - 8)
    writeFileSync(`${path}.${suffix}`, packed)
    const { file } = await deep(shop)
    expect([file.problems.damaged, file.missing]).toEqual([1, events - file.lines])
  },
)

test('counts lines of parts that another sink or another state wrote, and differs', async () => {
  const shop = await shipped()
  const api = { baseUrl: shop.simulator.url, accessKey }
  const path = join(shop.folder, 'events')
  // The state is lost: everything is shipped again, beside the old parts.
  rmSync(join(shop.folder, 'var'), { recursive: true })
  expect((await shop.execute('run', '--once')).code).toBe(0)
  const { code, report, file } = await deep(shop)
  const why = 'written under another state, which was lost or replaced'
  expect([code, report.isEqual, report.missing]).toEqual([1, false, 0])
  const foreign = [{ why, parts: 1, lines: events }]
  expect(file).toMatchObject({ isEqual: false, lines: events, missing: 0, foreign })

  // A second sink wrote into the folder, and a hand put a file there.
  const elsewhere = [{ name: 'files', type: 'file', path: `${path}-2` }]
  shop.configure({ api, sinks: [{ name: 'archive', type: 'file', path }, ...elsewhere] })
  expect((await shop.execute('run', '--once')).code).toBe(0)
  cpSync(join(`${path}-2`, '.shieldlog'), join(path, '.shieldlog'), { recursive: true })
  cpSync(join(`${path}-2`, 'shield_zone=101', `day=${yesterday}`), folderOf(shop), { recursive: true })
  writeFileSync(join(folderOf(shop), 'notes.ndjson'), 'one\ntwo\nthree')
  const html = join(shop.folder, 'audit.html')
  const again = await deep(shop, '--sink', 'archive', '--report', html)
  expect([again.code, again.file.foreign.length]).toEqual([1, 3])
  expect(again.file.foreign).toEqual(
    expect.arrayContaining([
      ...foreign,
      { why: 'written by sink files', parts: 1, lines: events },
      { why: 'its name is not the name of a part', parts: 1, lines: 3 },
    ]),
  )
  expect(readFileSync(html, 'utf8')).toContain(`${2 * events + 3} lines more that the state does not know`)
  const { stdout } = await shop.execute(...ofDay, '--sink', 'archive')
  expect(stdout).toMatch(new RegExp(`^101  ${2 * events + 3} more lines$`, 'm'))
  expect(stdout).toContain(`${events} more lines in 1 part (written by sink files)`)
  expect(stdout).not.toContain('To repair')
})

test('names the parts of a lost state with one command that moves all, and the page shows what was found', async () => {
  const shop = await shipped()
  const path = join(shop.folder, 'events')
  const before = globSync('shield_zone=*/day=*/*.ndjson*', { cwd: path })
  rmSync(join(shop.folder, 'var'), { recursive: true })
  expect((await shop.execute('run', '--once')).code).toBe(0)
  const audited = () => shop.execute('audit', '--deep')
  const { code, stdout } = await audited()
  expect([code, stdout.match(/has parts that its state does not know/g)]).toEqual([1, [expect.anything()]])
  for (const part of before) expect(stdout).toContain(`  ${part}\n`)
  const noted = () => inStore({ database: databaseOf(shop) }, ({ ledger }) => ledger.auditOf(ofYesterday))
  const differing = { isEqual: false, files: expect.stringContaining('more lines in 1 part') as string }
  expect(await noted()).toMatchObject(differing)
  // An audit that reads no files says nothing of them.
  expect(await shop.execute('audit')).toMatchObject({ code: 0 })
  expect(await noted()).toMatchObject(differing)
  const [, command = ''] = /^To move them: (.*)$/m.exec(stdout)!
  execFileSync('sh', ['-c', command])
  expect(globSync('shield_zone=*/day=*/*.ndjson*', { cwd: `${path}-aside` }).toSorted()).toEqual(
    before.toSorted(),
  )
  expect(await audited()).toMatchObject({ code: 0, stdout: expect.not.stringContaining('To move') })
  expect(await noted()).toMatchObject({ isEqual: true })
})

test('a minute that the ledger has lost is restored from the lines of the files, and not shipped twice', async () => {
  const shop = await shipped()
  const count = await inStore({ database: databaseOf(shop) }, async ({ ledger }) => {
    const [first] = await ledger.minutes(ofYesterday)
    const { fence, checkpoint } = await ledger.take(ofYesterday, { id: 'test', schedule: true })
    const basedOn = checkpoint!.commit
    const unsee = await ledger.loadSeen(ofYesterday, [first!.minute])
    const next = { ...checkpoint!, commit: basedOn + 1 }
    await ledger.commit({ fence, basedOn, next, seen: new Map(), unsee, deadLetters: [], gaps: [] })
    await ledger.release(ofYesterday, fence)
    return first!.count
  })
  const found = await deep(shop)
  expect(found.report).toMatchObject({ missing: count, extra: 0 })
  expect(found.file).toMatchObject({ missing: 0, problems: { ...none, unknown: count } })
  const repaired = await deep(shop, '--repair')
  expect(repaired.report).toMatchObject({ isEqual: true, files: [{ restored: 0, kept: count }] })
  expect(repaired.code).toBe(0)
  await expectWhole(shop)
})

test('a day that retention has removed is told as such, is no difference, and is not shipped again', async () => {
  const shop = await shipped()
  const atMs = Date.parse('2026-11-24T10:00:00Z')
  editCheckpoints(databaseOf(shop), (body, key) =>
    key.includes(yesterday) ? { ...body, committed: [], removed: { days: 30, atMs } } : body,
  )
  rmSync(folderOf(shop), { recursive: true })
  shop.simulator.set({ readableDays: 1 })
  const removed = [{ ...ofYesterday, at: '2026-11-24T10:00:00.000Z', why: 'removed after 30 days' }]
  for (const more of [[], ['--repair']]) {
    const { code, report, file, stderr } = await deep(shop, ...more)
    expect([code, report.isEqual], stderr).toEqual([0, true])
    expect(report).toMatchObject({ removed })
    expect(file).toMatchObject({ isEqual: true, ledger: events, lines: 0, missing: 0, parts: [] })
  }
  const html = join(shop.folder, 'audit.html')
  for (const command of [[...ofDay, '--report', html], ofDay.slice(0, -1)]) {
    const { stdout } = await shop.execute(...command)
    expect(stdout).toMatch(/^101 {2}removed$/m)
    expect(stdout).toContain('its files were removed after 30 days, at 2026-11-24T10:00:00Z.')
  }
  expect(readFileSync(html, 'utf8')).toContain('its files were removed after 30 days')
})

async function addGap(shop: Shop, sink: string): Promise<void> {
  const fromMs = Date.parse(`${yesterday}T23:00:00Z`)
  const gap: Gap = {
    ...ofYesterday,
    sink,
    from: fromMs,
    to: fromMs + 3_600_000,
    reason: 'unreadable',
    recordedAt: fromMs,
  }
  await inStore({ database: databaseOf(shop) }, ({ catalogue }) => catalogue.addGaps([gap]))
}

test('a gap of a day that the API no longer lists is a difference, also where its files are whole', async () => {
  const shop = await shipped()
  await addGap(shop, 'archive')
  expect((await deep(shop)).code).toBe(0)
  shop.simulator.set({ readableDays: 1 })
  const gone = await deep(shop)
  expect([gone.code, gone.report.isEqual, gone.file.isEqual], gone.stderr).toEqual([1, false, true])
  const { code, stdout } = await shop.execute(...ofDay)
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^101 {2}gap$/m)])
})

test('a gap of a sink without files is told beside the files of another sink', async () => {
  const shop = await shipped()
  const siem = { name: 'siem', type: 'http', preset: 'ndjson', url: 'http://127.0.0.1:9' }
  shop.configure({
    api: { baseUrl: shop.simulator.url, accessKey },
    zones: [101],
    sinks: [siem, { name: 'archive', type: 'file', path: join(shop.folder, 'events') }],
  })
  shop.simulator.set({ readableDays: 1 })
  const whole = await shop.execute(...ofDay)
  expect([whole.code, whole.stdout]).toEqual([
    0,
    expect.stringMatching(/siem {5}skipped\n.*archive {2}files ok\n/),
  ])
  await addGap(shop, 'siem')
  const named = await shop.execute(...ofDay)
  expect([named.code, named.stdout]).toEqual([
    3,
    expect.stringMatching(/siem {5}gap\n.*archive {2}files ok\n/),
  ])
  const { code, stdout } = await shop.execute('audit', '--deep', '--sink', 'siem,archive')
  expect([code, stdout]).toEqual([1, expect.stringContaining('→ siem: a gap from')])
})

test('without fingerprints counts and hashes are compared, also for a day that the API no longer lists', async () => {
  const shop = await shipped()
  await inStore({ database: databaseOf(shop) }, ({ upkeep }) => upkeep.dropIndex(ofYesterday))
  shop.simulator.set({ readableDays: 1 })
  const whole = await deep(shop)
  expect([whole.code, whole.report.streams, whole.file.isEqual], whole.stderr).toEqual([0, [], true])
  const path = pathOf(shop)
  edit(path, (lines) => lines.with(6, altered(lines[6]!)))
  const minutes = [{ missing: 1, extra: 1 }]
  expect((await deep(shop)).file).toMatchObject({ isByCounts: true, isEqual: false, missing: 1, minutes })
  edit(path, (lines) => lines.toSpliced(6, 1))
  const unrepaired = await deep(shop, '--repair')
  expect(unrepaired.file).toMatchObject({ isByCounts: true, missing: 1, parts: [{ problem: 'short' }] })
  expect(unrepaired.code).toBe(1)
  expect(unrepaired.stderr).toMatch(/was not repaired: .*does not answer for this day/)
  const text = await shop.execute(...ofDay)
  expect(text.stdout).toMatch(/^101 {2}files differ$.*Fingerprints are gone.*part .* is short/ms)
})
